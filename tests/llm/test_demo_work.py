"""What the demo model makes of a task: what it looks up and works out is right, and what it cannot do it escalates."""

from typing import Any

import pytest

from app.domain.job import JobInput
from app.domain.results import Escalation
from app.llm.demo_grid import Grid, in_words
from tests.llm.demo_driver import APP_LOG, SALES, result, worked, worker

ODD_SPACES = "\u2028\u2029\u0085\x0b\x0c\x1c\x1e\u00a0"


def csv(name: str, *lines: str) -> JobInput:
    return JobInput.model_construct(name=name, media_type="text/csv", content="\n".join(lines) + "\n")


def json_input(content: str) -> JobInput:
    return JobInput(name="order.json", media_type="application/json", content=content)


def minutes(**lines: str) -> JobInput:
    """300 kB of minutes in which nothing is said but for these lines."""
    said = [f"Item {number}: nothing of note, as attendee {number % 7} put it." for number in range(6_000)]
    for number, line in lines.items():
        said[int(number[1:]) - 1] = line
    return JobInput(name="minutes.txt", content="\n".join(said))


async def test_arithmetic_in_a_task_is_calculated_by_the_tool() -> None:
    done = await worked(worker("calculate"), "Work out 1,200 * 1.5, and 15% of 80.")

    assert done.tools == ["calculate", "calculate"]
    assert "1200 * 1.5` = 1800.0" in done.output.text
    assert "= 12.0" in done.output.summary


async def test_a_table_is_looked_at_and_then_added_up() -> None:
    done = await worked(worker("query_data"), "Which region has the highest total amount?", inputs=[SALES])

    assert [each.error_code for each in done.results] == [None, None, None]
    assert "sum of amount is largest for north (350), then south (40.5), then west (7)" in done.output.summary
    assert "| south | 1 | 40.5 |" in done.output.text
    assert done.output.sources == ("sales.csv",)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("Sum the amounts", "The sum of amount is 397.5, over all 4 rows"),
        ("Sum the amounts of the north", "For north, the sum of amount is 350, over 2 rows"),
        (
            "What is the average amount in the south and in the north?",
            "mean of amount is largest for north (175), then",
        ),
        ("What is the highest amount?", "The largest amount is 250"),
        ("How many rows has the west?", "For west, the sum of amount is 7, over 1 row"),
    ],
)
async def test_figures_are_those_that_the_task_asks_for(task: str, told: str) -> None:
    assert told in (await worked(worker("query_data"), task, inputs=[SALES])).output.summary


@pytest.mark.parametrize("task", ["Sum the prices by customer", "What is the average price?"])
async def test_a_column_that_is_no_number_is_not_added_up_nor_is_another_in_its_place(task: str) -> None:
    prices = csv("prices.csv", "customer,price,units", "Acme,12 EUR,3", "Beta,n/a,4")

    assert "prices.csv" in (await worked(worker("query_data"), task, inputs=[prices])).escalation.message


@pytest.mark.parametrize(
    ("content", "task", "told"),
    [
        (
            '{"customer":"Acme","order":{"id":1,"total":120.5}}',
            "What is the total of the order?",
            "order.total is 120.5",
        ),
        ('{"shop":"S","orders":[{"id":1,"total":100},{"id":2,"total":50.5}]}', "Sum the totals", "is 150.5"),
        ('[{"a":{"b":{"total":1}}},{"a":{"b":{"total":2}}}]', "What is the total?", "a.b.total is 3"),
        (
            '[{"id":1,"total":100,"lines":[{"qty":1},{"qty":2}]},{"id":2,"total":50,"lines":[{"qty":4}]}]',
            "What is the total of all orders?",
            "The sum of total is 150",
        ),
        ('[{"id":1,"total":100,"lines":[{"qty":1},{"qty":2}]}]', "Sum of qty?", "The sum of lines.qty is 3"),
    ],
)
async def test_nested_data_is_worked_with(content: str, task: str, told: str) -> None:
    assert told in (await worked(worker("query_data"), task, inputs=[json_input(content)])).output.summary


async def test_a_text_is_listed_read_and_searched_for_what_the_task_names() -> None:
    done = await worked(worker("read_input"), "Why do exports end with E1042?", inputs=[APP_LOG])

    assert [block["input"]["action"] for block in done.calls][:3] == ["list", "read", "search"]
    assert done.calls[2]["input"]["text"] == "E1042"
    assert "line 2: “10:01 E1042 disk full”" in done.output.summary
    assert done.output.sources == ("app.log",)


async def test_a_long_text_is_searched_to_its_end() -> None:
    long = minutes(_4711="The board decided to raise the budget.", _5000="The budget of others.")

    done = await worked(worker("read_input"), "What did the board decide about the budget?", inputs=[long])

    assert "minutes.txt, line 4711: “The board decided to raise the budget.”" in done.output.summary
    assert "minutes.txt:5000: The budget of others." in done.output.text


async def test_a_text_that_does_not_hold_what_is_asked_for_is_no_answer() -> None:
    done = await worked(worker("read_input"), "What was said about the budget?", inputs=[minutes()])

    assert done.escalation.reason == "confidence_too_low"
    assert "No line of minutes.txt holds a word of: budget" in done.escalation.message


async def test_what_a_text_holds_cannot_end_the_block_that_quotes_it() -> None:
    tricky = JobInput(name="notes.md", content="before\n````\n# after\n")

    done = await worked(worker("read_input"), "Read it.", inputs=[tricky])

    assert "`````text\n1: before\n2: ````\n3: # after\n`````" in done.output.text


@pytest.mark.parametrize("space", ODD_SPACES)
async def test_characters_that_some_take_for_line_ends_break_nothing(space: str) -> None:
    # Such names come from runs that an earlier release took.
    text = JobInput.model_construct(name=f"a{space}b", content=f"the budget{space}is 5")
    table = csv(f"c{space}d.csv", f"region,am{space}ount,amount", f'"no{space}rth",1,2', "south,1,3")

    read = await worked(worker("read_input"), f"What is the{space}budget?", inputs=[text])
    added = await worked(worker("query_data"), f"Sum the amount{space}by region", inputs=[table])
    written = await worked(worker(), "Write the summary.", results=[result("t1", text=f"`1{space}+ 1` = 2{space}")])

    assert read.output.sources == (text.name,)
    assert added.output.sources == (table.name,)
    assert "largest for south (3), then no" in added.output.summary
    assert written.output.text


async def test_tools_for_inputs_rest_when_the_job_has_none() -> None:
    assert (await worked(worker("read_input", "query_data"), "Look around.")).calls == []


async def test_a_page_is_fetched_only_when_its_address_stands_in_the_task() -> None:
    without = await worked(worker("fetch_page"), "Read the news.")
    blocked = await worked(worker("fetch_page"), "Read http://127.0.0.1:9/news.")

    assert without.calls == []
    assert [block["input"] for block in blocked.calls] == [{"url": "http://127.0.0.1:9/news"}]


async def test_what_fails_beside_something_that_succeeds_is_told_and_costs_confidence() -> None:
    good = await worked(worker("calculate"), "Work out 6 / 3.")
    mixed = await worked(worker("calculate"), "Work out 6 / 3 and 6 / 0.")

    assert "`calculate` failed" in mixed.output.text
    assert mixed.output.confidence is not None
    assert good.output.confidence is not None
    assert mixed.output.confidence < good.output.confidence


async def test_a_task_of_which_everything_failed_is_escalated_with_what_failed() -> None:
    escalation = (await worked(worker("calculate"), "Work out 6 / 0.")).escalation

    assert escalation.reason == "confidence_too_low"
    assert "`calculate` failed" in escalation.message


@pytest.mark.parametrize(
    ("tools", "task"),
    [
        ((), "Write a haiku about queues."),
        (("web_search", "fetch_page"), "What is the capital of France?"),
        (("query_data",), "Explain the sales of the north."),
        (("read_input",), "Translate the log."),
        (("read_input",), "Summarise what E1042 did."),
    ],
)
async def test_a_task_that_takes_a_language_model_is_escalated(tools: tuple[str, ...], task: str) -> None:
    escalation = (await worked(worker(*tools), task, inputs=[SALES, APP_LOG])).escalation

    assert escalation.reason == "out_of_scope"
    assert escalation.message.startswith("Demo model: ")
    assert "takes a language model" in escalation.message


async def test_a_tool_of_the_provider_is_not_called_and_that_is_said() -> None:
    done = await worked(worker("web_search", "calculate"), "Search for tea, and work out 2 + 2.")

    assert done.tools == ["calculate"]
    assert "web_search" in done.output.text


async def test_a_writer_puts_figures_side_by_side_and_passes_on_their_sources() -> None:
    head = "| region | rows | sum of amount |\n| --- | --- | --- |\n"
    north, south = head + "| north | 2 | 19 |", head + "| south | 2 | 27.5 |"

    done = await worked(
        worker(), "Write a short summary.", results=[result("t1", text=north), result("t2", text=south)]
    )

    assert "By region, the sum of amount is largest for south (27.5), then north (19)." in done.output.summary
    assert "| north | 2 | 19 |\n| south | 2 | 27.5 |" in done.output.text
    assert done.output.sources == ("https://example.org/t1", "https://example.org/t2")


async def test_a_writer_does_not_pass_quotations_off_as_a_summary() -> None:
    done = await worked(worker(), "Write a short summary.", results=[result("t1"), result("t2")])

    assert "takes a language model" in done.escalation.message


@pytest.mark.parametrize("max_steps", [1, 2, 3])
async def test_a_worker_without_enough_replies_says_so_and_gives_no_figure(max_steps: int) -> None:
    escalation = (
        await worked(worker("query_data"), "Add up the amounts.", inputs=[SALES], max_steps=max_steps)
    ).escalation

    assert escalation.reason == "timeout"
    assert "397" not in str(escalation.partial)


async def test_a_call_has_an_id_of_its_own() -> None:
    tables = [SALES, SALES.model_copy(update={"name": "more.csv"})]

    done = await worked(worker("query_data", "read_input"), "Add up the amounts.", inputs=tables)

    assert len({block["id"] for block in done.calls}) == len(done.calls)


def promising(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


NUMBER, TEXT, NOTE = {"type": "number"}, {"type": "string"}, {"type": ["string", "null"]}
ORDERS = csv("orders.csv", "customer,amount", "Acme,10", "Beta,5")


@pytest.mark.parametrize(
    ("task", "properties", "data"),
    [
        ("Sum the amounts", {"total": NUMBER}, {"total": 15}),
        ("Sum the amounts", {"totalAmount": NUMBER, "rows": {"type": "integer"}}, {"totalAmount": 15, "rows": 2}),
        (
            "Average amount?",
            {"mean_amount": NUMBER, "note": NOTE},
            {"mean_amount": 7.5, "note": None},
        ),
        (
            "Which customer has the highest amount?",
            {"customer": TEXT, "total": NUMBER},
            {"customer": "Acme", "total": 10},
        ),
        (
            "Sum the amounts by customer",
            {"customers": {"type": "array", "items": promising(customer=TEXT, total=NUMBER)}},
            {"customers": [{"customer": "Acme", "total": 10}, {"customer": "Beta", "total": 5}]},
        ),
        (
            "What is 6 * 7?",
            {"result": {"type": "integer"}, "unit": {"const": "apples"}},
            {"result": 42, "unit": "apples"},
        ),
    ],
)
async def test_data_is_filled_in_from_figures_that_were_computed(
    task: str, properties: dict[str, Any], data: dict[str, Any]
) -> None:
    clerk = worker("query_data", "calculate", output_schema=promising(**properties))

    assert (await worked(clerk, task, inputs=[ORDERS])).output.data == data


async def test_data_may_be_described_in_parts() -> None:
    row = promising(customer=TEXT, total=NUMBER)
    schema = {**promising(rows={"type": "array", "items": {"$ref": "#/$defs/row"}}), "$defs": {"row": row}}

    done = await worked(worker("query_data", output_schema=schema), "Sum the amounts by customer", inputs=[ORDERS])

    assert done.output.data == {"rows": [{"customer": "Acme", "total": 10}, {"customer": "Beta", "total": 5}]}


@pytest.mark.parametrize(
    ("task", "properties"),
    [
        ("Rate it.", {"level": {"enum": ["low", "high"]}, "hits": {"type": "integer", "minimum": 3}}),
        ("Sum the amounts", {"total": NUMBER, "verdict": TEXT}),
        ("Sum the amounts by customer", {"total": NUMBER}),
        ("What is 6 * 7, and what is 5 * 5?", {"result": NUMBER}),
    ],
)
async def test_data_of_which_a_part_is_not_computed_is_not_given(task: str, properties: dict[str, Any]) -> None:
    clerk = worker("query_data", "calculate", output_schema=promising(**properties))

    assert isinstance((await worked(clerk, task, inputs=[ORDERS])).outcome, Escalation)


@pytest.mark.parametrize(
    ("cells", "complete", "said"),
    [
        (["NULL", "NULL"], True, "No sum of amount can be worked out."),
        (["NULL", "NULL"], False, "No sum of amount can be worked out."),
        (["5", "NULL"], False, "By region, the sum of amount is largest for r0 (5)."),
        (["1", "3", "2"], False, "By region, the sum of amount is largest for r1 (3), then r2 (2)."),
        (list("12345"), True, "By region, the sum of amount is largest for r4 (5) and smallest for r0 (1), of 5."),
    ],
)
def test_a_ranking_is_worded_whatever_is_missing_from_it(cells: list[str], complete: bool, said: str) -> None:
    rows = tuple((f"r{place}", "1", cell) for place, cell in enumerate(cells))

    assert in_words(Grid(("region", "rows", "sum of amount"), rows, complete)) == said


@pytest.mark.parametrize("name", ["Rows", "rows", "sum of amount", "input"])
async def test_a_column_that_is_called_like_one_of_ours_is_told_apart_from_it(name: str) -> None:
    tables = [csv("a.csv", f"{name},amount", "x,1", "x,2", "y,5"), csv("b.csv", f"{name},amount", "x,4")]

    done = await worked(worker("query_data"), f"Sum the amount by {name}", inputs=tables)

    assert f"| input | {name} (column) | rows | sum of amount |" in done.output.text
    assert "| a.csv | y | 1 | 5 |" in done.output.text
