"""What of Python sources needs tests: units, the exceptions they raise, and what existing tests refer to."""

import pytest

from app.domain.python_code.module import read_module
from app.domain.python_code.survey import Survey, is_test
from app.domain.python_code.units import DUNDER, NO_BODY, NO_METHODS, PRIVATE
from tests.support.templates import given, plan_for, team_of

LARGE = "\n".join(["", *("    # a long class", "    x = 1") * 40])


def units(text: str) -> dict[str, str]:
    return {each.name: each.untestable for each in read_module(text).units}


def raised(body: str, before: str = "") -> list[str]:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return [each.name for each in read_module(f"{before}\ndef f(x):\n{lines}\n").units[-1].raises]


def left_out(inputs: dict[str, str]) -> dict[str, str]:
    """Where each unit of the sources is tested, or why it needs no tests, by input and name."""
    survey = Survey.of(given(name, text) for name, text in inputs.items())
    return {
        f"{name}:{each.name}": f"tested in {where[0]}" if (where := survey.tested_in(name, each)) else each.untestable
        for name, module in survey.sources.items()
        for each in module.units
    }


def test_units_are_functions_small_classes_and_methods_of_large_ones() -> None:
    source = f'''\
from typing import overload, Protocol

def plain(): return 1
async def waits(): return 2
def _helper(): return 3
def nothing(): ...
def told(): """Only that."""
def later(): raise NotImplementedError("later")
@overload
def several(x: int) -> int: ...
@overload
def several(x: str) -> str: ...
def several(x): return x
if plain():
    def either(): return 1
else:
    def either(): return 2

class Small:
    def __init__(self): self.x = 1
    def _own(self): return 1
class Empty(Exception): pass
class Shape(Protocol):
    def area(self) -> float: ...
class _Hidden:
    def seen(self): return 1
class Large:{LARGE}
    def __init__(self): self.y = 1
    def __len__(self): raise TypeError
    def _own(self): return 1
    @property
    def sum(self): return 1
    @sum.setter
    def sum(self, to): raise ValueError
    class Inner:
        def go(self): return 1
'''
    assert units(source) == {
        "plain": "",
        "waits": "",
        "_helper": PRIVATE,
        "nothing": NO_BODY,
        "told": NO_BODY,
        "later": NO_BODY,
        "several": "",
        "either": "",
        "Small": "",
        "Empty": NO_METHODS,
        "Shape": NO_METHODS,
        "_Hidden": PRIVATE,
        "Large.__init__": DUNDER,
        "Large.__len__": "",
        "Large._own": PRIVATE,
        "Large.sum": "",
        "Large.Inner": "",
    }
    by_name = {each.name: each for each in read_module(source).units}
    assert (by_name["Large.sum"].last - by_name["Large.sum"].first, by_name["Large.sum"].raises[0].name) == (
        3,
        "ValueError",
    )


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("raise ValueError('no')", ["ValueError"]),
        ("if x:\n    raise KeyError(x)\nraise ValueError", ["KeyError", "ValueError"]),
        ("raise errors.Refused(x) from None", ["errors.Refused"]),
        ("raise Own()", ["Own"]),
        ("raise x", []),
        ("raise make()", []),
        ("error = ValueError()\nraise error", []),
        ("assert x", []),
        ("def g():\n    raise ValueError", []),
        ("try:\n    raise KeyError\nexcept LookupError:\n    pass", []),
        ("try:\n    raise Own\nexcept Mother:\n    pass", []),
        ("try:\n    raise Own\nexcept (KeyError, Exception):\n    pass", []),
        ("try:\n    raise Own\nexcept:\n    pass", []),
        ("try:\n    raise SystemExit\nexcept Exception:\n    pass", ["SystemExit"]),
        ("try:\n    raise KeyError\nexcept KeyError:\n    raise\nexcept Exception:\n    pass", ["KeyError"]),
        ("try:\n    raise KeyError\nexcept KeyError as e:\n    log(e)\n    raise e", ["KeyError"]),
        ("try:\n    g()\nexcept KeyError:\n    raise ValueError", ["ValueError"]),
        ("try:\n    g()\nexcept KeyError as error:\n    raise Own from error", ["Own"]),
        ("try:\n    g()\nfinally:\n    raise ValueError", ["ValueError"]),
        ("with suppress(ValueError):\n    raise ValueError", []),
        ("with open(x):\n    raise ValueError", ["ValueError"]),
        ("try:\n    raise KeyError\nexcept ValueError:\n    pass", ["KeyError"]),
    ],
)
def test_raised_is_what_a_function_names_and_does_not_catch_itself(body: str, found: list[str]) -> None:
    before = "import errors\nfrom contextlib import suppress\nclass Mother(Exception): pass\nclass Own(Mother): pass\n"

    assert raised(body, before) == found


def test_a_parameter_named_like_a_class_is_no_exception() -> None:
    source = "from errors import Kind\ndef f(Kind):\n    raise Kind\n"

    assert read_module(source).units[0].raises == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/unit/helpers.py", True),
        ("test_x.py", True),
        ("pkg/x_test.py", True),
        ("conftest.py", True),
        ("shop/tests.py", True),
        ("shop/contest.py", False),
        ("shop/testing.py", False),
        ("shop/latest.py", False),
    ],
)
def test_inputs_are_of_tests_by_their_names(name: str, expected: bool) -> None:
    assert is_test(name) is expected


PRICES = "def parse(text):\n    return text\ndef total(of):\n    return of\n"


@pytest.mark.parametrize(
    ("test", "tested"),
    [
        ("from shop.prices import parse\ndef test_it():\n    assert parse('1')\n", ["parse"]),
        ("from shop.prices import parse as p, total\ndef test_it():\n    assert p('1')\n", ["parse"]),
        ("from shop.prices import parse\n", []),
        ("import shop.prices\nshop.prices.total(1)\n", ["total"]),
        ("import shop.prices as p\np.total(1)\n", ["total"]),
        ("from shop import prices\nprices.total(1)\n", ["total"]),
        ("from src.shop import prices\nprices.total(1)\n", ["total"]),
        ("from prices import total\ntotal(1)\n", ["total"]),
        ("from shop import *\ncheap(1)\n", ["total"]),
        ("from shop import cheap\ncheap(1)\n", ["total"]),
        ("from ..src.shop.prices import total\ntotal(1)\n", ["total"]),
        ("from ...src.shop.prices import total\ntotal(1)\n", []),
        ("from other.prices import total\ntotal(1)\n", []),
        ("prices.total(1)\n", []),
        ("from unittest import mock\nmock.patch('shop.prices.total')\n", []),
    ],
)
def test_tested_is_what_a_test_imports_and_reads(test: str, tested: list[str]) -> None:
    inputs = {
        "src/shop/__init__.py": "from .prices import total as cheap\n",
        "src/shop/prices.py": PRICES,
        "tests/test_prices.py": test,
    }

    found = left_out(inputs)

    told = "tested in tests/test_prices.py"
    assert [name for name in ("parse", "total") if found[f"src/shop/prices.py:{name}"] == told] == tested


def test_a_package_without_its_init_may_take_any_name_from_its_modules() -> None:
    source = {"src/shop/prices.py": PRICES, "src/shop/tax.py": "from shop.prices import total\ndef tax(): return 1\n"}

    found = left_out({**source, "tests/test_it.py": "import shop\nfrom shop import total\ntotal(shop.tax(1))\n"})

    told = "tested in tests/test_it.py"
    assert found == {"src/shop/prices.py:parse": "", "src/shop/prices.py:total": told, "src/shop/tax.py:tax": told}


def test_a_method_of_a_large_class_is_tested_by_a_file_that_refers_to_both() -> None:
    ledger = f"class Ledger:{LARGE}\n    def add(self): return 1\n    def __bool__(self): raise ValueError\n"
    reads = "def test_it(ledger):\n    ledger.add()\n"

    by_itself = left_out({"ledger.py": ledger, "test_a.py": reads})
    with_class = left_out({"ledger.py": ledger, "test_a.py": f"from ledger import Ledger\nLedger()\n{reads}"})
    by_fixture = {"conftest.py": "from ledger import Ledger\ndef make(): return Ledger()\n", "test_a.py": reads}

    assert by_itself == {"ledger.py:Ledger.add": "", "ledger.py:Ledger.__bool__": ""}
    assert with_class["ledger.py:Ledger.add"] == with_class["ledger.py:Ledger.__bool__"] == "tested in test_a.py"
    assert left_out({"ledger.py": ledger, **by_fixture})["ledger.py:Ledger.add"] == "tested in test_a.py"


def test_names_that_import_each_other_in_a_circle_come_to_an_end() -> None:
    many = "\n".join(f"from {name} import x" for name in ("a", "b", "c") for _ in range(200))
    inputs = {f"{name}.py": many for name in ("a", "b", "c")}

    assert left_out({**inputs, "test_a.py": "from a import x\nx()\n", "d.py": "from a import *\ndef f(): return x\n"})


def test_a_template_makes_a_task_for_each_that_is_untested_and_tells_what_it_raises() -> None:
    tests = {
        "id": "tests",
        "for_each": "untested",
        "title": "Tests for {{item}}",
        "instruction": "Write tests for each of these:\n{{items}}\nNot for {{left_out}}.",
        "context": "{{imports}}\n{{text}}",
        "worker": "writer",
    }
    source = "import os\n\ndef a():\n    raise ValueError\n\ndef b():\n    return 1\n\ndef c(): return 2\n"
    inputs = [given("m.py", source), given("test_m.py", "import m\n\nassert m.b()\n"), given("notes.txt", "none")]

    plan = plan_for(team_of(tests), inputs)

    assert [(task.id, task.title) for task in plan.tasks] == [
        ("tests-1", 'Tests for "a"'),
        ("tests-2", 'Tests for "c"'),
    ]
    assert '- "a" in "m.py", lines 3-4, a function, raises "ValueError" (line 4)' in plan.tasks[0].instruction
    assert 'Not for "b".' in plan.tasks[0].instruction
    assert "1| import os" in plan.tasks[0].context


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    from fast import f\nexcept ImportError:\n    def f(x): return x\n",
        "def f(x): return x\ndef g():\n    from z import f\n    return f()\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import f\ndef f(x): return x\n",
    ],
)
def test_a_function_that_shares_its_name_with_an_import_can_be_tested(source: str) -> None:
    survey = Survey.of([given("src/a.py", source), given("tests/test_a.py", "from a import f\nassert f(1)\n")])
    unit = survey.unit("src/a.py", "f")

    assert unit is not None
    assert survey.tested_in("src/a.py", unit) == ("tests/test_a.py",)
