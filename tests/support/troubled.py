"""A run in which much goes wrong, and which ends all the same: what readers of logs and traces are tried on."""

from typing import Any

from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, overloaded, refusal, text, tool_calls, truncated
from tests.support.stub_provider import StubProvider

TEAM = Team(
    name="troubled",
    workers=tuple(
        Worker(name=name, description=f"{name.title()}s.", instructions=f"You {name}.", tools=tools)
        for name, tools in (("find", ("calculate",)), ("write", ()), ("check", ()))
    ),
)
PLAN = plan_of(
    task("t1", "find", title="Find the sum"),
    task("t2", "write", title="Write it down", required=False),
    task("t3", "check", title="Check it", needs=["t1"]),
)
CUT, PROSE, DECLINED, NAMELESS = "cut in the mid", "The sum is 3.", "I would rather not.", "There is no answer."


def script(stub: StubProvider) -> None:
    """Have the provider give the run its troubles."""
    stub.on("plan", call=1, reply=text("I plan to think."))
    stub.on("plan", as_json(PLAN))
    stub.on("work:find", call=1, reply=truncated(CUT))
    sums = [call("calculate", {"expression": expression}, call_id=f"toolu_{expression}") for expression in ("1+2", "?")]
    stub.on("work:find", call=2, reply=tool_calls(*sums, before="I add."))
    stub.on("work:find", call=3, reply=overloaded())
    stub.on("work:find", text(PROSE))
    stub.on("work:write", refusal(content=({"type": "text", "text": DECLINED},)))
    stub.on("work:check", call=1, reply=as_json({"summary": "", "text": ""}))
    stub.on("work:check", call=2, reply=as_json({"summary": "", "text": ""}))
    stub.on("work:check", as_json(report("checked")))
    stub.on("refine", call=1, reply=text("Check it twice."))
    stub.on("synthesize", call=1, reply=as_json(synthesis("It is 3.", "t2")))
    stub.on("synthesize", text("It is 3, as two have found."))


async def troubled_run(service: Service, stub: StubProvider) -> dict[str, Any]:
    """Execute the run; its row at the end."""
    script(stub)
    run_id = await service.submit(team=TEAM, inputs=[{"name": "notes.txt", "content": "1 and 2"}])
    return await service.ended(run_id)
