"""The demo model before a change that its task shows: it maps files, and names lines by rules alone."""

import pytest

from app.domain.material import Item, text_of
from tests.llm.demo_driver import worked, worker
from tests.support.templates import diff_of

CHANGE = """--- a/shop/pay.py
+++ b/shop/pay.py
@@ -1,3 +1,5 @@
 def pay(order):
-    send(order.amount)
+    amount = float(order.amount)
+    # TODO round it
+    send(amount, verify=False)
     return True
"""
RULES = "# Rules\n\nNever use `float` for money.\nUse `Decimal`.\n"
CONTEXT = (
    f"{text_of([Item('shop/pay.py', 'c.diff', 1, 9, CHANGE, note='modified', is_diff=True)]).text}\n\n"
    f"{text_of([Item('CONTRIBUTING.md', 'CONTRIBUTING.md', 1, 4, RULES)]).text}"
)


@pytest.mark.parametrize(
    ("description", "lines"),
    [
        ("Finds bugs that a change brings in.", [(3, "# TODO round it")]),
        ("Finds holes that a change opens.", [(4, "send(amount, verify=False)")]),
        ("Finds where a change breaks the written guidelines.", [(2, "amount = float(order.amount)")]),
        ("Finds what history tells.", []),
    ],
)
async def test_a_worker_names_the_lines_that_the_rules_of_its_kind_speak_of(
    description: str, lines: list[tuple[int, str]]
) -> None:
    finder = worker(description=description, output="findings")

    output = (await worked(finder, "Review the change.", context=CONTEXT)).output

    told = [(each["location"], each["evidence"]) for each in output.data["findings"]]
    assert [(place["line"], evidence) for place, evidence in told] == lines
    assert all((place["input"], place["path"]) == ("c.diff", "shop/pay.py") for place, _ in told)
    assert "No language model" in output.text


async def test_the_place_of_a_rule_is_named() -> None:
    finder = worker(description="Finds where a change breaks the written guidelines.", output="findings")

    [found] = (await worked(finder, "Review it.", context=CONTEXT)).output.data["findings"]

    assert found["message"].startswith("Demo model: CONTRIBUTING.md:3 speaks against what stands here.")


async def test_a_worker_that_reports_maps_the_files() -> None:
    sizes = {"a.py": 2, "b": 7}
    files = [Item(name, "c.diff", 1, 9, diff_of((name, lines)), is_diff=True) for name, lines in sizes.items()]

    output = (await worked(worker(), "Map it for those who review others.", context=text_of(files).text)).output

    assert "a.py: 2 lines added, 0 removed\nb: 7 lines added, 0 removed" in output.text
