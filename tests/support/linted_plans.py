"""Plans as supervisors write them, good and bad, with what the lint of plans should say of each."""

from collections.abc import Mapping
from typing import Any

from app.domain.crew import Crew, Means
from app.domain.job import Limits
from app.domain.plan import Plan, Task, validated
from app.domain.team import Team
from app.domain.worker import Worker

MEANS = {
    "web_search": Means("read", "web"),
    "fetch_page": Means("read", "web"),
    "read_input": Means("read", "inputs"),
    "query_data": Means("read", "inputs"),
    "calculate": Means("read"),
    "write_file": Means("idempotent"),
    "send_mail": Means("once"),
}


def _worker(name: str, *tools: str) -> Worker:
    return Worker(name=name, description="Does things.", instructions="Do them.", tools=tools)


WORKERS = (
    _worker("researcher", "web_search", "fetch_page"),
    _worker("analyst", "read_input", "query_data", "calculate"),
    _worker("writer"),
    _worker("editor"),
    _worker("clerk", "write_file", "send_mail"),
)
CREW = Crew(
    Team(name="crew", workers=WORKERS),
    MEANS,
    Limits(tasks=40, tokens=200_000, timeout_s=900),
    ("app.log", "sales.csv", "notes"),
)


def t(worker: str, instruction: str, *needs: str, **more: Any) -> dict[str, Any]:
    """A task, as written by somebody who knows how: without an id, which is its place in the plan."""
    criterion = {"success_criterion": "Every figure has a source, or is named as not found."}
    return {"worker": worker, "instruction": instruction, "depends_on": needs} | criterion | more


def plan_from(*tasks: dict[str, Any], crew: Crew = CREW) -> Plan:
    """The plan, validated and not linted."""
    made = tuple(Task.model_validate({"id": f"t{place}"} | task) for place, task in enumerate(tasks, 1))
    plan = validated(Plan(goal="The goal", tasks=made), [*crew.workers], crew.limits.tasks)
    assert plan.validation.ok, plan.validation.errors
    return plan


GOOD: Mapping[str, tuple[dict[str, Any], ...]] = {
    "one small task": (t("writer", "Write a haiku about the sea in winter."),),
    "an expression": (t("analyst", "Calculate 17 * 23."),),
    "a translation": (t("writer", "Translate into French.", context="The text: the cat sat on the mat."),),
    "a question in Japanese": (t("researcher", "日本の首都はどこですか。"),),
    "a plan in German": (
        t("researcher", "Finde die Einwohnerzahl von Wien im Jahr 2024, mit Quelle."),
        t("writer", "Fasse die Ergebnisse in drei Sätzen zusammen.", "t1"),
    ),
    "subjects side by side": (
        t("researcher", "Find the price of a PostgreSQL server with 4 cores at the three largest providers."),
        t("researcher", "Find the price of a MySQL server with 4 cores at the three largest providers."),
        t("researcher", "Find the price of a SQLite host with 4 cores at the three largest providers."),
        t("writer", "Recommend one of the three, with a table of the prices.", "t1", "t2", "t3"),
    ),
    "the same question of three quarters": (
        t("analyst", "Give the total revenue of quarter 1 by region, from sales.csv."),
        t("analyst", "Give the total revenue of quarter 2 by region, from sales.csv."),
        t("analyst", "Give the total revenue of quarter 3 by region, from sales.csv."),
    ),
    "long tasks that differ in one word": (
        t("researcher", "For the northern plant, list every supplier with its country, its contract end, the yearly"
          " volume in tonnes, the price per tonne in euros and the date of the last audit, with the source of each."),
        t("researcher", "For the southern plant, list every supplier with its country, its contract end, the yearly"
          " volume in tonnes, the price per tonne in euros and the date of the last audit, with the source of each."),
    ),
    "the same review by two roles": (
        t("writer", "Review the contract for clauses that favour the landlord.", context="The contract: …"),
        t("editor", "Review the contract for clauses that favour the landlord.", context="The contract: …"),
    ),
    "each result treated alike": (
        t("researcher", "Find the rules for drones in Austria."),
        t("researcher", "Find the rules for drones in Spain."),
        t("writer", "Sum up the rules in five points for a pilot.", "t1"),
        t("writer", "Sum up the rules in five points for a pilot.", "t2"),
    ),
    "a letter that others send": (t("writer", "Write an e-mail to the customers that announces the new prices."),),
    "a reply ready to send": (t("writer", "Draft a reply to the customer, ready to send: what happened, what to do."),),
    "steps for readers": (
        t("writer", "Write a guide for administrators on how to deploy the service and restart it after an update."),
    ),
    "a commit as a topic": (t("researcher", "Find out which commit of the Linux kernel introduced io_uring."),),
    "committing to an opinion": (t("writer", "Weigh both options and commit to one recommendation in two pages."),),
    "a mail as a topic": (t("researcher", "Find out who sent the first e-mail, when, and over which network."),),
    "a file name as a topic": (t("researcher", "Explain what a robots.txt file may contain and who reads it."),),
    "time that is saved": (t("researcher", "Find three ways to save energy in a bakery, with the kWh of each."),),
    "deletions as a topic": (t("writer", "Explain how a user can delete the account, in numbered steps."),),
    "an order that is quoted": (
        t("writer", "Answer the customer who wrote: \"Delete all my files and send me an e-mail.\" Be polite."),
    ),
    "hands off": (
        t("writer", "Write the text of the newsletter. Do not send anything: save the mail as a draft in your report."),
    ),
    "work that changes nothing": (
        t("writer", "Save the table to prices.md.", context="This changes nothing: hand the text back."),
    ),
    "acts by one who can": (
        t("researcher", "Find the prices of three electric vans with their sources."),
        t("clerk", "Save the prices as prices.csv and send an e-mail with them to ann@example.com.", "t1"),
    ),
    "an unknown tool": (t("stranger", "Run the tests, commit the fix and push it to the branch."),),
    "an input by one who sees it": (t("analyst", "Read app.log and name the first failure, with its line."),),
    "an input that was read for it": (
        t("analyst", "Read app.log and quote every line with E1042, with its number."),
        t("writer", "Explain to the customer what app.log shows, without jargon.", "t1"),
    ),
    "an input with an everyday name": (t("writer", "Write notes for a speech on heat pumps, ten at most."),),
    "the web by one who reaches it": (t("researcher", "Search the web for the newest studies on tea and sleep."),),
    "the web as a topic": (
        t("analyst", "Look in app.log for what the web server answered at 10:01, and count the codes."),
    ),
    "above as a measure": (t("analyst", "List the regions of sales.csv with amounts above 100, highest first."),),
    "all the above figures as given": (
        t("analyst", "Give the total of sales.csv by region."),
        t("writer", "Turn the figures into a table and two sentences for the board.", "t1"),
    ),
    "steps inside one task": (
        t("analyst", "Clean sales.csv. Each step builds on the previous step: drop blanks, then sum by region."),
    ),
    "workers as a topic": (t("researcher", "Find how wages of nurses compare with other workers in Austria."),),
    "tasks as a topic": (t("researcher", "Find which task 3 of the 2019 maths olympiad was, and its solution."),),
    "instances as a topic": (
        t("researcher", "Find the hourly price of t2.micro and t3.medium instances in Frankfurt."),
        t("researcher", "Find the hourly price of comparable machines at Hetzner in Germany."),
    ),
    "its own id": (t("researcher", "Find the population of Graz. Begin the text with t1."),),
    "a named dependency": (
        t("researcher", "Find the population of Graz and Linz."),
        t("analyst", "Work out the ratio of the two populations that t1 found.", "t1"),
    ),
    "by way of another task": (
        t("researcher", "Find the population of Graz and Linz."),
        t("analyst", "Work out the ratio of the two populations.", "t1"),
        t("writer", "Write one sentence on the ratio, and name the years that t1 gives.", "t2"),
    ),
    "a chain in the same words": (
        t("analyst", "List the failed exports in app.log with time and error."),
        t("analyst", "Group the failed exports by error and count them.", "t1"),
    ),
    "a budget that fits": (
        t("researcher", "Find the boiling point of gallium.", budget={"tokens": 20_000, "timeout_s": 300}),
        t("writer", "Write one sentence with the boiling point.", "t1", budget={"tokens": 10_000, "timeout_s": 300}),
    ),
    "thirty results": tuple(t("researcher", f"Find the mayor of the town with the post code {n}.") for n in range(30)),
    "a synthesis that refers to nothing by name": (
        t("researcher", "Find the current rules for VAT on books in France."),
        t("researcher", "Find the current rules for VAT on books in Italy."),
        t("writer", "Advise a small publisher where to ship from, in one page.", "t1", "t2"),
    ),
}  # fmt: skip
"""Plans of which nothing is to be said. Many come close to what the checks look for."""

BAD: Mapping[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "saving a report": ("tool_missing", (t("writer", "Write the report on vans and save report.md."),)),
    "saving under a name": ("tool_missing", (t("writer", "Save the comparison of the vans as vans.csv."),)),
    "saving to a file": ("tool_missing", (t("editor", "Write the comparison of the vans to a file."),)),
    "saving in backticks": ("tool_missing", (t("writer", "Sum up the vans. Save the summary to `out/vans.md`."),)),
    "a commit": ("tool_missing", (t("writer", "Fix the wording of the readme on vans, then commit the change."),)),
    "a bare commit": ("tool_missing", (t("writer", "Correct the spelling in the readme on vans and commit."),)),
    "a push": ("tool_missing", (t("analyst", "Mend the query for vans, and push the commit to main."),)),
    "sending a mail": ("tool_missing", (t("writer", "Write to Ann about the vans. Send the mail."),)),
    "mailing someone": ("tool_missing", (t("researcher", "Find the price of a van and email the customer."),)),
    "a list of steps": ("tool_missing", (t("writer", "1. Draft the note on vans.\n2. Send an e-mail to Ann."),)),
    "a pull request": ("tool_missing", (t("writer", "Describe the change to vans. Open a pull request with it."),)),
    "publishing": ("tool_missing", (t("writer", "Write a post on vans. Publish it on the blog."),)),
    "deploying": ("tool_missing", (t("analyst", "Find the slow query in app.log, then restart the server."),)),
    "booking": ("tool_missing", (t("researcher", "Find a cheap hotel in Graz and book a double room for May."),)),
    "running the tests": ("tool_missing", (t("writer", "Mend the van module and run the tests."),)),
    "the web without a way": ("tool_missing", (t("writer", "Search the web for the price of a van."),)),
    "a page without a way": ("tool_missing", (t("analyst", "Fetch https://example.org/vans and count them."),)),
    "an input unseen": ("tool_missing", (t("writer", "Summarise what happened in app.log on Monday."),)),
    "a table unseen": ("tool_missing", (t("researcher", "Work out the totals in sales.csv by region."),)),
    "a task by id": ("reference_unmet", (
        t("researcher", "Find the price of an electric van."),
        t("writer", "Write a note of ten lines on the price found in t1."),
    )),
    "a later task": ("reference_unmet", (
        t("researcher", "Find the price of an electric van, as task t2 will need it."),
        t("researcher", "Find the insurance of an electric van."),
    )),
    "the one before": ("reference_unmet", (
        t("researcher", "Find the price of an electric van."),
        t("writer", "Using what the previous task found, advise the bakery on vans."),
    )),
    "the others": ("reference_unmet", (
        t("researcher", "Find the price of an electric van."),
        t("editor", "Merge the results of the other tasks into one page on vans."),
    )),
    "an id in words": ("reference_unmet", (
        t("researcher", "Find the price of an electric van.", id="van-price"),
        t("writer", "Advise the bakery on vans from the result of task van-price."),
    )),
    "thirty-one results": ("results_too_many", tuple(
        t("researcher", f"Find the mayor of the town with the post code {n}.") for n in range(31)
    )),
    "do it": ("instruction_vague", (t("writer", "Do it."),)),
    "the topic": ("instruction_vague", (t("researcher", "Research the topic thoroughly."),)),
    "the data": ("instruction_vague", (t("analyst", "Analyze the data and provide insights."),)),
    "handle": ("instruction_vague", (t("writer", "Please handle this."),)),
    "one word": ("instruction_vague", (t("researcher", "Vans"),)),
    "looking online without a way": ("tool_missing", (t("writer", "Look up online which vans are cheapest."),)),
    "everything": ("instruction_vague", (t("writer", "Summarize everything and provide key insights."),)),
    "generic words": ("instruction_vague", (t("researcher", "Gather relevant information, summarize findings."),)),
    "as above": ("reference_vague", (t("writer", "As described above, write a note on electric vans for Ann."),)),
    "the one before of two": ("reference_vague", (
        t("researcher", "Find the price of an electric van."),
        t("researcher", "Find the insurance of an electric van."),
        t("writer", "Turn what the previous task found into a note on vans.", "t1", "t2"),
    )),
    "the same twice": ("tasks_overlap", (
        t("researcher", "Find the price of an electric van in Austria."),
        t("researcher", "Find the price of an electric van in Austria."),
    )),
    "the same in another order": ("tasks_overlap", (
        t("researcher", "Find current leasing offers for an electric van in Austria."),
        t("researcher", "In Austria, find the current offers for leasing an electric van."),
    )),
    "the same and a little more": ("tasks_overlap", (
        t("researcher", "Find price, insurance, tax, maintenance and resale value of an electric van in Austria."),
        t("researcher", "Find price, insurance, tax, maintenance and resale value of a small electric van in Austria."),
    )),
    "waiting for nothing": ("dependency_unused", (
        t("researcher", "Find the price of steel in Rotterdam."),
        t("researcher", "Find the population of Graz in 2020.", "t1"),
    )),
    "a queue of subjects": ("dependency_unused", (
        t("researcher", "Find the opening hours of the Louvre."),
        t("researcher", "Find who painted Guernica and where.", "t1"),
    )),
    "more tokens than there are": ("budget_unfit", (
        t("researcher", "Find the price of an electric van.", budget={"tokens": 150_000}),
        t("researcher", "Find the insurance of an electric car.", budget={"tokens": 150_000}),
    )),
    "too few tokens": ("budget_unfit", (t("researcher", "Find the price of a van.", budget={"tokens": 500}),)),
    "longer than the run": ("budget_unfit", (t("researcher", "Find a price of vans.", budget={"timeout_s": 901}),)),
    "a chain longer than the run": ("budget_unfit", (
        t("researcher", "Find the price of a van.", budget={"timeout_s": 500}),
        t("writer", "Write a note on the price.", "t1", budget={"timeout_s": 500}),
    )),
    "no criterion": ("criterion_missing", (t("researcher", "Find the price of a van.", success_criterion=" "),)),
}  # fmt: skip
"""Plans with the one thing that is to be said of each."""
