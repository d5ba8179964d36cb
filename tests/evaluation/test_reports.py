"""A report for people, for programs and for CI."""

import io
import json
from xml.etree import ElementTree

from app.evaluation.comparing import compared
from app.evaluation.junit import as_junit
from app.evaluation.report import CaseReport, Check, Report, SideReport, SuiteReport
from app.evaluation.showing import show
from app.evaluation.suite import Bars
from app.evaluation.tallying import bars_of, confusion_of, overhead_of, routing_by_worker, totals_of
from tests.evaluation.cases import case

WRONG = Check(name="fact 1: contains", passed=False, detail="'a\x00<b>' does not stand there")
CASES = (
    case("good", 1, passed=True, routed=True, llm_calls=3, wall_s=1.5),
    case("bad", 1, passed=False).model_copy(update={"checks": (WRONG,)}),
    CaseReport(id="lost", repeat=1, outcome="error", error="HTTP 500: it broke"),
    CaseReport(id="later", repeat=1, outcome="skipped", error="no model"),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def side(team: str = "general@1", cases: tuple[CaseReport, ...] = CASES, **models: str) -> SideReport:
    return SideReport(
        team=team, models=models, totals=totals_of(cases), confusion=confusion_of(cases),
        workers=routing_by_worker(cases, {}), overhead=overhead_of(cases, 5), cases=cases,
    )  # fmt: skip


def report(*sides: SideReport, repeat: int = 1) -> Report:
    bars = bars_of(Bars(), sides[0].totals)
    differences = compared(*(each.cases for each in sides)) if len(sides) > 1 else ()
    suite = SuiteReport(
        suite="small", file="small.yaml", repeat=repeat, met=False, bars=bars, sides=sides, comparison=differences
    )
    return Report(met=False, suites=(suite,))


def test_junit_has_a_test_case_for_each_case_with_what_became_of_it() -> None:
    root = ElementTree.fromstring(as_junit(report(side())).encode())

    [suite] = root
    assert (root.tag, suite.tag, suite.get("name")) == ("testsuites", "testsuite", "small[general@1]")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    found = {each.get("name"): [part.tag for part in each] for each in suite}
    assert found == {
        "good": ["system-out"], "bad": ["failure", "system-out"], "lost": ["error"], "later": ["skipped"],
    }  # fmt: skip
    [failure] = suite.iter("failure")
    assert failure.get("message") == "fact 1: contains: 'a\ufffd<b>' does not stand there"


def test_junit_tells_sides_and_repetitions_apart() -> None:
    twice = (case("good", 1, passed=True), case("good", 2, passed=True))
    root = ElementTree.fromstring(
        as_junit(report(side(cases=twice), side(cases=twice, analyst="fast"), repeat=2)).encode()
    )

    assert [each.get("name") for each in root] == ["small[general@1]", "small[general@1:analyst=fast]"]
    assert [each.get("name") for each in root[0]] == ["good[1]", "good[2]"]


def test_people_get_plain_columns_where_there_is_no_terminal() -> None:
    out = io.StringIO()

    show(report(side(), side("general@2")), out)

    said = out.getvalue()
    assert "  good   passed            3" in said
    assert "  lost   error" in said
    assert "HTTP 500: it broke" in said
    assert "noise unknown: repeat more" in said
    assert said.endswith("small: NOT MET\n\n")
    assert "\x1b" not in said


def test_a_terminal_gets_tables_in_which_names_are_no_markup() -> None:
    out = Terminal()

    show(report(side("[bold]general")), out)

    assert "[bold]general" in out.getvalue()
    assert "┃" in out.getvalue()


def test_the_json_is_read_back_as_it_was() -> None:
    written = report(side(), side("general@2"))

    assert Report.model_validate(json.loads(written.model_dump_json())) == written
