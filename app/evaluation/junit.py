"""A report as JUnit XML: a test suite for each side of a suite, a test case for each case and repetition."""

import re
from xml.etree import ElementTree

from app.evaluation.report import CaseReport, Report, SideReport, SuiteReport

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no form for."""


def as_junit(report: Report) -> str:
    """The report as an XML document."""
    root = ElementTree.Element("testsuites", name="chargehand eval")
    for suite in report.suites:
        for side in suite.sides:
            root.append(_suite(suite, side))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(suite: SuiteReport, side: SideReport) -> ElementTree.Element:
    name = f"{suite.suite}[{side.named}]"
    totals = side.totals
    element = ElementTree.Element(
        "testsuite",
        name=_clean(name),
        tests=str(totals.runs),
        failures=str(totals.failed),
        errors=str(totals.errors),
        skipped=str(totals.skipped),
        time=f"{side.overhead.elapsed_ms / 1000:.3f}",
    )
    for case in side.cases:
        element.append(_case(name, case, repeated=suite.repeat > 1))
    return element


def _case(suite: str, case: CaseReport, *, repeated: bool) -> ElementTree.Element:
    name = f"{case.id}[{case.repeat}]" if repeated else case.id
    element = ElementTree.Element(
        "testcase", classname=_clean(suite), name=_clean(name), time=f"{case.elapsed_ms / 1000:.3f}"
    )
    match case.outcome:
        case "failed":
            _add(element, "failure", message=case.wrong[0], text="\n".join(case.wrong))
        case "error":
            _add(element, "error", message=case.error or "", text=case.error or "")
        case "skipped":
            _add(element, "skipped", message=case.error or "")
    if case.run is not None:
        _add(element, "system-out", text=f"run {case.run}")
    return element


def _add(element: ElementTree.Element, tag: str, *, message: str | None = None, text: str = "") -> None:
    part = ElementTree.SubElement(element, tag)
    if message is not None:
        part.set("message", _clean(message))
    part.text = _clean(text) or None


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)
