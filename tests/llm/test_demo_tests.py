"""The demo model as a worker that writes tests: what it can tell from a text is checked as any result is, or left."""

import pytest

from app.domain.checks import CHECKS, Worked
from app.domain.results import Output
from app.llm import demo_tests
from app.llm.demo_tests import NoRule
from tests.support.templates import given, plan_for, team_of

TEMPLATE = {
    "id": "tests",
    "for_each": "untested",
    "most": 1,
    "instruction": "Write tests for:\n{{items}}",
    "context": "{{text}}",
    "worker": "writer",
}


def codes(source: str) -> dict[str, str]:
    """The tests that it writes for a source, by their names; they are such as are taken."""
    inputs = [given("src/shop/m.py", source), given("notes.md", "none")]
    [task] = plan_for(team_of(TEMPLATE), inputs).tasks
    told = f"{task.instruction}\n{task.context}"
    data = demo_tests.tests_for(told, {each.name: each.content for each in inputs}, [each.name for each in inputs])
    assert list(CHECKS["python_tests"](Worked(task, Output(summary="s", data=data), inputs))) == []
    return {test["code"].partition("(")[0].removeprefix("def "): test["code"] for test in data["tests"]}


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("def f(a):\n    if a < 3:\n        raise ValueError\n    return a\n", "f(a=2)"),
        ("def f(a, b=1):\n    '''Doc.'''\n    if not a:\n        raise ValueError\n    return a\n", "f(a=None)"),
        ("def f(a, *, b):\n    if b in ('x', 'y'):\n        raise KeyError\n    return a\n", "f(a=None, b='x')"),
        ("KINDS = {'k': 1}\ndef f(a):\n    if a not in KINDS:\n        raise KeyError\n    return a\n", "f(a='kx')"),
        ("def f(a):\n  if not a:\n    raise OSError\n  if len(a) > 1:\n    raise KeyError\n  return a\n", "f(a='xx')"),
        ("def f(a):\n    if not isinstance(a, str) or a == '':\n        raise TypeError\n    return a\n", "f(a='')"),
        ("class A:\n  def __init__(self, n):\n    if n <= 0:\n      raise ValueError\n    self.n = n\n", "A(n=0)"),
        ("class A:\n  def f(self, n):\n    if n <= 0:\n      raise ValueError\n    return n\n", "made.f(n=0)"),
        ("class E(Exception):\n    pass\ndef f(a):\n    if a == 7:\n        raise E('no')\n    return a\n", "f(a=7)"),
    ],
)  # fmt: skip
def test_arguments_are_worked_out_from_the_conditions_that_come_first(source: str, call: str) -> None:
    written = "\n".join(code for name, code in codes(source).items() if "_raises_" in name)

    assert "with pytest.raises(" in written
    assert f"        {call}\n" in f"{written}\n"


@pytest.mark.parametrize(
    "source",
    [
        "def f(*args, **more): return args\n",
        "def f(a, /, b=1, *, c): return a\n",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef f(a): return a\n",
        "async def f(): return 1\n",
        "class A:\n    @property\n    def p(self): return 1\n    def f(self): return 2\n",
    ],
)
def test_plain_functions_and_classes_have_tests_of_what_they_take(source: str) -> None:
    assert len(codes(source)) == 2
    assert all("Demo model:" in code for code in codes(source).values())


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("@app.command()\ndef f(a): return a\n", "What command makes of f, no rule tells."),
        ("def f(a):\n  try:\n    return g(a)\n  except KeyError:\n    raise OSError from None\n", "lead to OSError"),
        ("def f(a):\n    if g(a):\n        raise ValueError\n    return a\n", "lead to ValueError in"),
        ("def f(a):\n    if a > 1 and a < 0:\n        raise ValueError\n    return a\n", "lead to ValueError in"),
        ("class A:\n    @staticmethod\n    def f(a): return a\n", "A has no plain method."),
        (f"def f(a):\n  if {'-' * 900}a > 0x{'f' * 9_000}:\n    raise ValueError\n  return a\n", "lead to ValueError"),
    ],
)  # fmt: skip
def test_what_no_rule_tells_is_left_with_the_reason(source: str, why: str) -> None:
    with pytest.raises(NoRule, match=why.replace(".", r"\.")):
        codes(source)


def test_a_source_that_was_read_in_part_alone_is_left() -> None:
    with pytest.raises(NoRule, match="was not read as a whole"):
        demo_tests.tests_for('- "f" in "m.py", lines 9-9', {"m.py": "x = 1\n"}, ["m.py"])
    with pytest.raises(NoRule, match="names no function"):
        demo_tests.tests_for("Write tests.", {}, [])
