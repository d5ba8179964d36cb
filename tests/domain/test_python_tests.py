"""The check `python_tests`: what keeps written tests from being taken."""

from time import thread_time
from typing import Any

import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from app.domain.checks import CHECKS, Worked
from app.domain.python_code.written import MOST_FLAWS, MOST_TESTS
from app.domain.results import Output
from tests.support.templates import given, plan_for, team_of

SHOP = """\
from decimal import Decimal

import httpx

from shop import rates
from shop.errors import Refused


def parse(text, currency="EUR"):
    if not text:
        raise ValueError("empty")
    if currency not in rates.KNOWN:
        raise Refused(currency)
    return Decimal(text)


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, price):
        if price < 0:
            raise ValueError("negative")
        self.lines.append(price)
"""
INPUTS = [
    given("src/shop/prices.py", SHOP),
    given("src/shop/__init__.py", "from .prices import Basket as Cart\n"),
    given("src/shop/rates.py", "KNOWN = {'EUR'}\n"),
    given("tests/conftest.py", "import pytest\n@pytest.fixture\ndef market(): return 1\n"),
    given("notes.txt", "no source"),
]
TEMPLATE = {
    "id": "tests",
    "for_each": "untested",
    "only": "parse",
    "instruction": "Write tests for:\n{{items}}",
    "context": "{{text}}",
    "worker": "writer",
}
[TASK] = plan_for(team_of(TEMPLATE), INPUTS).tasks
[BASKET] = plan_for(team_of(TEMPLATE | {"only": "Basket"}), INPUTS).tasks

ORDINARY = "def test_parse():\n    assert parse('1') == 1\n"
EDGE = "def test_parse_of_zero():\n    assert parse('0') == Decimal(0)\n"
EMPTY = "def test_parse_of_nothing():\n    with pytest.raises(ValueError, match='empty'):\n        parse('')\n"
REFUSED = "def test_parse_of_dollars():\n    with pytest.raises(Refused):\n        parse('1', 'USD')\n"
IMPORTS = [
    "import pytest",
    "from decimal import Decimal",
    "from shop.prices import parse",
    "from shop.errors import Refused",
]


def written(kind: str, code: str, raises: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"function": "parse", "input": "src/shop/prices.py", "kind": kind, "raises": raises, "code": code, **fields}


WHOLE = [
    written("ordinary", ORDINARY),
    written("edge", EDGE),
    written("exception", EMPTY, "ValueError"),
    written("exception", REFUSED, "shop.errors.Refused"),
]


def flaws(data: Any, task: Any = TASK) -> list[str]:
    output = Output(summary="Tests.", data=data)
    return [flaw.detail for flaw in CHECKS["python_tests"](Worked(task, output, INPUTS))]


def with_test(code: str, *imports: str, kind: str = "edge", raises: str | None = None) -> list[str]:
    """What is wrong where a further test stands beside those that are needed."""
    return flaws({"imports": [*IMPORTS, *imports], "tests": [*WHOLE, written(kind, code, raises)]})


def test_tests_of_all_that_is_needed_are_taken() -> None:
    assert flaws({"imports": IMPORTS, "tests": WHOLE}) == []


@pytest.mark.parametrize(
    ("without", "what"),
    [
        (0, "of the ordinary case (kind ordinary)"),
        (1, "of an edge (kind edge)"),
        (2, "for ValueError, which line 11 of src/shop/prices.py raises (kind exception)"),
        (3, "for Refused, which line 13 of src/shop/prices.py raises (kind exception)"),
    ],
)
def test_each_that_is_missing_is_named(without: int, what: str) -> None:
    why = f"parse in src/shop/prices.py: there is no test {what}"

    assert flaws({"imports": IMPORTS, "tests": [each for at, each in enumerate(WHOLE) if at != without]}) == [why]


@pytest.mark.parametrize(
    "code",
    [
        "def test_a(capsys, market, tmp_path):\n    parse('1')\n    assert capsys.readouterr().out == ''",
        "@pytest.mark.parametrize(('a', 'b'), [('1', 1)])\ndef test_a(a, b):\n    assert parse(a) == b",
        "@pytest.mark.parametrize('a, b', [('1', 1)])\nasync def test_a(a, b):\n    assert parse(a) == b",
        "@mock.patch('shop.rates.KNOWN', {})\ndef test_a(known):\n    parse('1')\n    known.get.assert_not_called()",
        "def test_a():\n    import shop.prices as p\n    assert p.parse('1')",
        "def test_a():\n    from shop import Cart, prices\n    assert prices.parse('1') and Cart",
        "class TestA(TestCase):\n  def setUp(self): pass\n  def test_a(self):\n    self.assertEqual(parse('1'), 1)",
        "class TestA:\n  @pytest.fixture\n  def one(self): return '1'\n  def test_a(self, one):\n    assert parse(one)",
        "def test_a():\n    with pytest.warns(UserWarning):\n        parse('1')",
        "def test_a():\n    from shop.prices import parse as format\n    assert format('1') == 1",
        "def test_a():\n    for each in '12':\n        if each:\n            assert parse(each)",
    ],
)  # fmt: skip
def test_tests_are_taken_in_the_forms_that_people_write(code: str) -> None:
    assert with_test(code, "from unittest import TestCase, mock") == []


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def test_a(:\n  pass", "This is no Python source: line 1 cannot be parsed."),
        ("def test_a():\n    parse('1')", "line 1: test_a asserts nothing that could fail"),
        ("def test_a():\n    parse('1')\n    assert True", "asserts nothing"),
        ("def test_a():\n    parse('1')\n    assert 1 == 1, parse", "asserts nothing"),
        ("def test_a():\n    assert (parse('1'), 'it parses')", "asserts nothing"),
        ("def test_a():\n    assert parse('1') == parse('1')", "asserts nothing"),
        ("def test_a():\n    assert parse('1') or True", "asserts nothing"),
        ("def test_a():\n    assert isinstance(1, int)\n    parse('1')", "asserts nothing"),
        ("def test_a():\n    parse('1').assert_called_once", "asserts nothing"),
        ("def test_a():\n    def inner():\n        assert parse('1')", "asserts nothing"),
        ("class TestA:\n  def test_a(self):\n    self.assertTrue(True)\n    parse('1')", "line 2: test_a asserts"),
        ("class TestA:\n    def check(self):\n        assert parse('1')", "the class has no method whose name begins"),
        ("class A:\n    def test_a(self):\n        assert parse('1')", "the name of a class of tests begins with Test"),
        ("def a():\n    assert parse('1')", "the name of a test begins with test_, not a"),
        ("X = 1\ndef test_a():\n    assert parse(X)", "line 1: it must be one test function"),
        ("import os\ndef test_a():\n    assert parse('1')", "line 1: it must be one test function"),
        (ORDINARY + EDGE, "it must be one test function"),
        ("", "tests.4.code: String should have at least 1 character"),
        ("@pytest.mark.skip\ndef test_a():\n    assert parse('1')", "test_a is skipped, or may fail"),
        ("def test_a():\n    pytest.skip('later')\n    assert parse('1')", "test_a is skipped, or may fail"),
        ("def test_a():\n    assert parse(Path('1'))", "it reads Path, which is neither imported nor made in it"),
        ("def test_a(basket):\n    assert parse(basket)", "nor the tests that are there have a fixture basket"),
        ("def test_a():\n    assert Decimal('1')", "it does not use parse of src/shop/prices.py"),
        ("def test_a():\n  from shop.prices import total\n  assert parse(total)", "line 2: shop.prices has no total"),
        ("def test_a():\n    import shop.prices as p\n    assert p.parse(p.total)", "it reads shop.prices.total"),
        ("def test_a(monkeypatch):\n  mock.patch('shop.rates.NO')\n  assert parse('1')", "replaces shop.rates.NO"),
        ("def test_a():\n    import shop\n    assert parse(shop.rates.NONE)", "it reads shop.rates.NONE, which is not"),
        ("def test_a():\n" + "assert parse(" + "-" * 100_000 + "1)", "20000 characters"),
        ("def test_a():\n    assert parse(" + "(" * 3_000 + ")" * 3_000 + ")", "cannot be parsed"),
        ("def test_a():\n    assert parse('\0')", "cannot be parsed"),
        ("def test_a():\n    assert parse(x" + ".y" * 900 + ") == parse(x" + ".y" * 900 + ")", "it reads x"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_test_is_named_with_its_place(code: str, why: str) -> None:
    found = with_test(code)

    assert any(why in each for each in found), found
    assert all(each.startswith(("tests[4] of parse: ", "data.tests.4")) for each in found)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("from shop.prices import total", "shop.prices has no total"),
        ("from shop.nothing import total", "none of the given sources is shop.nothing"),
        ("import shop.nothing", "none of the given sources is shop.nothing"),
        ("from shop import nothing", "shop has no nothing"),
        ("from .prices import parse", ".prices is relative"),
        ("from shop.prices import *", "name what is imported from shop.prices"),
        ("import freezegun", "freezegun is neither given, nor a part of Python or pytest, nor imported by any"),
        ("import os; import sys", "it must be one import statement"),
        ("x = 1", "it must be one import statement"),
        ("import (", "cannot be parsed"),
        ("from shop import Cart", None),
        ("from shop import prices, rates", None),
        ("import shop.rates", None),
        ("from src.shop.prices import parse", None),
        ("from shop.errors import Anything", None),
        ("import httpx, os.path", None),
        ("from unittest import mock", None),
    ],
)
def test_imports_must_be_there(statement: str, why: str | None) -> None:
    found = flaws({"imports": [*IMPORTS, statement], "tests": WHOLE})

    assert found == [] if why is None else len(found) == 1 and found[0].startswith("imports[4]: ") and why in found[0]


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        ("def test_a():\n    with pytest.raises(ValueError):\n        parse('')", True),
        ("def test_a():\n    pytest.raises(ValueError, parse, '')", True),
        ("class TestA:\n    def test_a(self):\n        self.assertRaises(ValueError, parse, '')", True),
        ("def test_a():\n    with pytest.raises(Exception):\n        parse('')", False),
        ("def test_a():\n    with pytest.raises((ValueError, KeyError)):\n        parse('')", False),
        ("def test_a():\n    with pytest.raises(ValueError):\n        raise ValueError(parse)", False),
        ("def test_a():\n    with pytest.raises(ValueError):\n        pass\n    assert parse('1')", False),
        ("def test_a():\n    assert parse('1') != ValueError", False),
    ],
)
def test_an_exception_is_tested_by_a_call_that_is_to_raise_it(code: str, taken: bool) -> None:
    found = with_test(code, kind="exception", raises="ValueError")

    assert found == [] if taken else ["does not expect ValueError of a call" in each for each in found] == [True]


def test_a_class_is_tested_as_a_whole() -> None:
    def of(kind: str, code: str, raises: str | None = None) -> dict[str, Any]:
        return written(kind, code, raises, function="Basket")

    tests = [
        of("ordinary", "def test_a():\n    basket = Basket()\n    basket.add(1)\n    assert basket.lines == [1]"),
        of("edge", "def test_b():\n    assert Cart().lines == []"),
        of("exception", "def test_c():\n    with pytest.raises(ValueError):\n        Basket().add(-1)", "ValueError"),
    ]
    imports = ["import pytest", "from shop import Cart", "from shop.prices import Basket"]

    assert flaws({"imports": imports, "tests": tests}, BASKET) == []
    assert flaws({"imports": imports, "tests": tests[:2]}, BASKET) == [
        "Basket in src/shop/prices.py: there is no test for ValueError, which line 23 of src/shop/prices.py raises "
        "(kind exception)"
    ]


def test_a_task_is_about_what_its_template_says_alone() -> None:
    [why] = flaws({"imports": IMPORTS, "tests": [*WHOLE, written("edge", EDGE, function="Basket")]})

    assert why == (
        "tests[4] of Basket: the task is not about Basket in src/shop/prices.py, but about: parse in src/shop/prices.py"
    )


def test_of_a_task_without_a_template_the_tests_say_what_they_are_about() -> None:
    own = TASK.model_copy(update={"instruction": "Test the parser.", "context": '"x" in "\\u12", lines 1'})

    assert flaws({"imports": IMPORTS, "tests": WHOLE}, own) == []
    [why, *_] = flaws({"imports": IMPORTS, "tests": [written("edge", EDGE, function="none")]}, own)
    assert why == "tests[0] of none: src/shop/prices.py has no function or class none"


@pytest.mark.parametrize(
    "data",
    [None, [], "tests", {"tests": []}, {"tests": [{}]}, {"imports": 1, "tests": WHOLE}, {"tests": WHOLE * MOST_TESTS}],
)
def test_data_of_another_form_are_a_flaw(data: Any) -> None:
    assert flaws(data)


def test_a_large_result_is_looked_at_in_moderate_time_and_told_in_short() -> None:
    chain = "def test_a():\n    assert " + " + ".join(["y.z"] * 100)
    tests = [written("edge", chain) for _ in range(MOST_TESTS)]
    began = thread_time()

    found = flaws({"imports": [f"import a{number}" for number in range(MOST_TESTS)], "tests": tests})

    assert len(found) == MOST_FLAWS
    assert thread_time() - began < 3


PIECES = st.sampled_from(
    ["def test_a():", "\n    ", "assert ", "parse", "(", ")", "'", "\0", "\r", ":", "class ", "@", "import ", "from ",
     "*", ".", "lambda: ", "match x:", "\\", "\u2028", "async ", "\ud800", "raise", " = "]
)  # fmt: skip


@given_by(st.lists(st.lists(PIECES, max_size=20).map("".join), min_size=1, max_size=3), st.booleans())
def test_whatever_is_written_is_a_flaw_and_never_a_failure(texts: list[str], begun: bool) -> None:
    begin = "def test_a():\n    assert " if begun else ""
    tests = [written("edge", f"{begin}{text} ") for text in texts]

    assert flaws({"imports": texts, "tests": tests})
