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
        "@pytest.mark.usefixtures('market')\ndef test_a():\n    assert parse('1')",
        "def test_a(market):\n    market.skip(2)\n    assert parse('1')",
    ],
)  # fmt: skip
def test_tests_are_taken_in_the_forms_that_people_write(code: str) -> None:
    assert with_test(code, "from unittest import TestCase, mock") == []


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def test_a(:\n  pass", "This is no Python source: line 1 cannot be parsed."),
        ("def test_a():\n    assert await parse('1')", "line 2: Python does not compile it: 'await' outside async"),
        ("def test_a(x, x):\n    assert parse(x)", "line 1: Python does not compile it: duplicate argument"),
        ("def test_a():\n    assert parse('1')\n    global parse", "line 3: Python does not compile it: name 'parse'"),
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
        ("def test_a(basket):\n    assert parse(basket)", "nor a conftest.py above the test has a fixture basket"),
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
        ("from __future__ import braces", "not a chance"),
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


def test_a_function_called_like_a_test_is_imported_under_another_name() -> None:
    source = given("src/shop/db.py", "def test_connection(url):\n    return url\n")
    own = TASK.model_copy(update={"instruction": "Test it.", "context": ""})
    code = "def test_a():\n    assert test_connection('x') == 'x'"

    def found(statement: str, code: str) -> list[str]:
        fields = {"function": "test_connection", "input": source.name}
        tests = [written("ordinary", code, **fields), written("edge", code.replace("'x'", "''"), **fields)]
        output = Output(summary="Tests.", data={"imports": [statement], "tests": tests})
        return [flaw.detail for flaw in CHECKS["python_tests"](Worked(own, output, [source]))]

    assert found("from shop.db import test_connection", code) == [
        "imports[0]: pytest takes test_connection for a test: import it as another name"
    ]
    assert found("from shop.db import test_connection as tried", code.replace("test_connection", "tried")) == []


def test_a_test_is_of_one_kind() -> None:
    again = written("edge", ORDINARY.replace("test_parse", "test_parse_again"))

    assert flaws({"imports": IMPORTS, "tests": [*WHOLE, written("ordinary", ORDINARY)]}) == []
    assert flaws({"imports": IMPORTS, "tests": [WHOLE[0], again, *WHOLE[2:]]}) == [
        "tests[1] of parse: it is tests[0] again"
    ]


def test_names_are_followed_in_moderate_time_for_all_tests_together() -> None:
    many = [
        given(f"p/m{at}.py", "".join(f"from p.m{other} import *\n" for other in range(40)) + SHOP.partition("\n\n")[2])
        for at in range(40)
    ]
    named = ", ".join(f"parse as q{number}" for number in range(30))
    code = f"def test_a():\n    from p.m1 import {named}\n    assert {' or '.join(f'q{n}' for n in range(30))}"
    tests = [written("edge", code) for _ in range(100)]
    began = thread_time()

    CHECKS["python_tests"](Worked(TASK, Output(summary="Tests.", data={"tests": tests}), [*INPUTS, *many]))

    assert thread_time() - began < 5


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("market", True),
        ("freezer", True),  # A plug-in's: a test asks for it.
        ("named", True),
        ("of_another", False),
        ("amount", False),
        ("number", False),
        ("below", False),
        ("mocked", False),
    ],
)
def test_a_fixture_is_there_where_the_test_will_be(name: str, is_known: bool) -> None:
    other = """\
import pytest
@pytest.fixture
def of_another(): return 1
def helper(amount): return amount
@pytest.mark.parametrize("number", [1])
def test_other(number, freezer, of_another): assert helper(number)
@given("x")
def test_mocked(mocked): assert mocked()
"""
    inputs = [
        *INPUTS,
        given("tests/test_other.py", other),
        given("tests/unit/conftest.py", "import pytest\n@pytest.fixture\ndef below(): return 1\n"),
        given("conftest.py", "import pytest\n@pytest.fixture(name='named')\ndef _named(): return 1\n"),
    ]
    tests = [*WHOLE, written("edge", f"def test_a({name}):\n    assert parse({name})")]
    output = Output(summary="Tests.", data={"imports": IMPORTS, "tests": tests})

    found = [flaw.detail for flaw in CHECKS["python_tests"](Worked(TASK, output, inputs))]

    assert [f"has a fixture {name}" in each for each in found] == ([] if is_known else [True])


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


@pytest.mark.parametrize(
    "body",
    [
        "assert parse",
        "parse('1')\n    if False:\n        assert parse('1') == 1",
        "return\n    assert parse('1') == 1",
        "try:\n        assert parse('1') == 1\n    except Exception:\n        pass",
        "try:\n        assert parse('1') == 1\n    except:\n        print('no')",
        "try:\n        assert parse('1') == 1\n    except* Exception:\n        pass",
        "try:\n        assert parse('1') == 1\n    except builtins.Exception:\n        pass",
        "while 0:\n        assert parse('1') == 1",
        "assert callable(parse)",
        "try:\n        parse('')\n    except ValueError as error:\n        assert error",
        "assert parse is not None",
        "assert [parse('1')]",
        "assert lambda: parse('1')",
        "assert parse('1') or 1 == 1",
        "assert (parse('1') or True) and True",
        "with contextlib.suppress(AssertionError):\n        assert parse('1') == 2",
        "with pytest.raises(AssertionError):\n        assert parse('1') == 2",
    ],
)
def test_an_assertion_of_which_nobody_would_hear_is_none(body: str) -> None:
    [flaw] = with_test(f"def test_more():\n    {body}\n", "import builtins", "import contextlib")

    assert flaw == "tests[4] of parse: line 1: test_more asserts nothing that could fail"


@pytest.mark.parametrize(
    "code",
    [
        "def test_more():\n    price = parse('1')\n    assert price\n",
        "def test_more():\n    match parse('1'):\n        case Decimal() as price:\n            assert price\n",
        "def test_more():\n    try:\n        parse('1')\n    except Exception:\n        raise\n    assert parse('1')\n",
        "def test_more():\n    assert parse('1') or []\n",
        "def test_more():\n    price = parse('1')\n    assert price is not None and isinstance(price, Decimal)\n",
        "def test_more():\n    if parse('1'):\n        assert parse('0') == 0\n",
        "def test_more():\n    for text in ('1', '2'):\n        assert parse(text)\n        continue\n",
        "@pytest.mark.skipif(parse is None, reason='r')\ndef test_more():\n    assert parse('1')\n",
    ],
)
def test_an_assertion_on_its_way_is_one(code: str) -> None:
    assert with_test(code) == []


@pytest.mark.parametrize(
    "mark", ["@pytest.mark.skipif", "@pytest.mark.skipif(True, reason='r')", "@pytest.mark.skipif(1)"]
)
def test_a_condition_that_always_holds_skips(mark: str) -> None:
    [flaw] = with_test(f"{mark}\ndef test_more():\n    assert parse('1')\n")

    assert flaw.endswith("test_more is skipped, or may fail")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("@pytest.mark.parametrize('a', [])\ndef test_a(a):\n    assert parse(a)", "test_a is skipped"),
        ("@pytest.fixture\ndef test_a():\n    assert parse('1')", "pytest passes over a fixture"),
        ("class TestA:\n  __test__ = False\n  def test_a(self):\n    assert parse('1')", "a class with a __test__"),
        ("class TestA:\n  pytestmark = [pytest.mark.skip]\n  def test_a(self):\n    assert parse('1')", "is skipped"),
        ("def test_a():\n    assert parse('1')\n    raise unittest.SkipTest('x')", "test_a is skipped"),
        ("def test_a():\n    assert parse('1')\n    raise pytest.skip.Exception('x')", "test_a is skipped"),
        ("def test_a():\n    yield\n    assert parse('1')", "pytest passes over a test that has a yield"),
        ("def test_a():\n    parse = lambda x: 1\n    assert parse('1')", "it gives parse, which it is said to test"),
        (
            "def test_a():\n    try: int('x')\n    except ValueError as parse: assert parse('1')",
            "it gives parse, which",
        ),
        ("def test_a():\n    match int:\n        case parse: assert parse('1')", "it gives parse, which it is said"),
        ("def test_a():\n    from pytest import skip\n    skip('x')\n    assert parse('1')", "test_a is skipped"),
        ("def test_a(parse=len):\n    assert parse('1')", "it gives parse, which it is said to test, another meaning"),
    ],
)
def test_what_pytest_would_not_carry_out_is_no_test(code: str, why: str) -> None:
    [flaw] = with_test(code, "import unittest")

    assert why in flaw


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ("for _ in guard:\n            pass", True),
        ("f'{guard}'", True),
        ("a, b = guard", True),
        ("[*guard]", True),
        ("with guard:\n            raise KeyError", True),
        ("guard", False),
        ("raise ValueError(guard)", False),
    ],
)
def test_an_exception_may_be_one_that_python_calls_for(body: str, is_one: bool) -> None:
    code = f"def test_a():\n    guard = Basket()\n    with pytest.raises(ValueError):\n        {body}"
    tests = [written("exception", code, "ValueError", function="Basket")]

    found = flaws({"imports": ["import pytest", "from shop.prices import Basket"], "tests": tests}, BASKET)

    assert any("does not expect ValueError" in each for each in found) != is_one


def test_a_class_that_pytest_passes_over_has_no_tests() -> None:
    init = "    def __init__(self):\n        self.x = 1\n"
    code = f"class TestMore:\n{init}    def test_it(self):\n        assert parse('1')\n"

    [flaw] = with_test(code)

    assert "pytest passes over a class" in flaw


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("with pytest.raises(ValueError):\n        int('x')\n    parse('1')", False),
        ("with pytest.raises(ValueError):\n        parse('')", True),
        ("pytest.raises(ValueError, parse, '')", True),
        ("pytest.raises(ValueError, int, 'x')\n    parse('1')", False),
        ("from shop.prices import parse as read\n    with pytest.raises(ValueError):\n        read('')", True),
        ("import shop.prices as p\n    with pytest.raises(ValueError):\n        p.parse('')", True),
    ],
)
def test_an_exception_is_expected_of_what_is_tested(code: str, is_one: bool) -> None:
    tests = [WHOLE[0], WHOLE[1], WHOLE[3], written("exception", f"def test_none():\n    {code}\n", "ValueError")]

    found = flaws({"imports": IMPORTS, "tests": tests})

    why = "it does not expect ValueError of a call of parse, by pytest.raises(ValueError) or assertRaises"
    assert found == ([] if is_one else [f"tests[3] of parse: {why}"])
