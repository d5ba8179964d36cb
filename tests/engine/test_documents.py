from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.documents import as_input, pdf_of
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, tool_calls
from tests.support.stub_provider import StubProvider

READERS = Team(
    name="readers",
    workers=(Worker(name="reader", description="Reads.", instructions="Read.", tools=("read_input",)),),
)


async def test_a_worker_reads_the_text_of_a_document_and_is_told_why_it_cannot(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "reader"))))
    reads = [call("read_input", {"action": "read", "name": name}) for name in ("mill.pdf", "broken.pdf")]
    stub.on(
        "work",
        lambda seen: tool_calls(*reads) if len(seen.body["messages"]) == 1 else as_json(report("Built in 1887.")),
    )
    documents = [
        as_input(pdf_of("The mill was built in 1887."), "mill.pdf"),
        as_input(b"%PDF-1.7 and no more", "broken.pdf"),
    ]

    run_id = await service.submit(team=READERS, inputs=[each.model_dump() for each in documents])
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    events = await service.events(run_id)
    [read] = [event.data for event in events if event.type == "tool.completed"]
    [failed] = [event.data for event in events if event.type == "tool.failed"]
    assert "2: The mill was built in 1887." in read.output  # type: ignore[union-attr]
    assert failed.error.code == "document_broken"  # type: ignore[union-attr]
    [planned] = stub.of("plan")
    assert '"document": "PDF", "bytes": ' in planned.body["messages"][0]["content"][0]["text"]
