"""Whether Python would compile a test: `ast` takes more than that, such as `await` in a plain function.

Compiling carries nothing out. It copies what stands in `finally` to each way out, so what would be copied very often is
refused unseen.
"""

import ast

from app.domain.python_code.syntax import TryNode
from app.domain.python_functions import MOST_CHARACTERS, without_warnings

_MOST_COPIED = 5_000
"""Parts of syntax that stand in `finally`, each as often as it would be copied."""


def compile_fault(code: str, *futures: str) -> str | None:
    """Why Python does not compile a code that can be parsed; None where it does.

    `futures` are its imports from `__future__`, each on a line: they change what is allowed.
    """
    text = "\n".join([*futures, code])
    if len(text) > MOST_CHARACTERS:
        return f"it has more than {MOST_CHARACTERS} characters"
    try:
        with without_warnings():
            if _copied(ast.parse(text)) > _MOST_COPIED:
                return "it has more in finally than can be looked at"
            compile(text, "<test>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {max((error.lineno or 1) - len(futures), 1)}: Python does not compile it: {error.msg}"
    except (ValueError, OverflowError):
        return "Python does not compile it"
    except (RecursionError, MemoryError):
        return "it nests deeper than can be compiled"
    return None


def _copied(tree: ast.Module) -> int:
    nodes = [*ast.walk(tree)]
    leaving = sum(isinstance(each, ast.Return | ast.Break | ast.Continue) for each in nodes)
    return sum(_size_of_finally(each) * (leaving + 2) for each in nodes if isinstance(each, TryNode))


def _size_of_finally(node: TryNode) -> int:
    within = [inner for each in node.finalbody for inner in ast.walk(each)]
    is_nested = any(isinstance(each, TryNode) and each.finalbody for each in within)
    return _MOST_COPIED if is_nested else len(within)
