"""Definitions and names in a syntax tree."""

import ast

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
"""What has names of its own, and is not carried out where it stands."""
TryNode = ast.Try | ast.TryStar


def name_of(node: ast.expr | None) -> str | None:
    """A name with what is before it, as `errors.Refused`; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def last_name_of(node: ast.expr | None) -> str:
    """The last part of a name; empty for anything else."""
    return last_part(name_of(node) or "")


def last_part(name: str) -> str:
    """What is behind the last dot of a name: all of it, where there is none."""
    return name.rpartition(".")[2]


def called(node: ast.expr) -> ast.expr:
    """What a call calls; anything else is itself. A decorator may be either."""
    return node.func if isinstance(node, ast.Call) else node


def name_bound_by(node: ast.AST) -> str | None:
    """The name that a node binds itself; None where it binds none, or does so by a definition or an import."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name
        case ast.MatchMapping(rest=str(name)):
            return name
        case _:
            return None
