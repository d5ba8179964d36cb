"""The first job after a start begins at once."""

from tests.support.fixtures import Services
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider


async def test_the_first_job_after_a_start_waits_for_no_look_at_the_queue(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", as_json(report()))
    for _ in range(3):
        service = await services.start(poll_seconds=60)
        run_id = await service.submit(plan=plan_of(task("only")))

        assert (await service.ended(run_id, timeout_s=10))["status"] == "succeeded"
        await services.stop(service)
