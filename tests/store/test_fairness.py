from app.domain.job import Job
from app.domain.plan import validated
from app.store.acceptance import NewRun, accept
from app.store.teams import StoredTeam, put_team, team_named
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, new_run_id, plan_of, report, task
from tests.support.stub_answers import Answer, as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest


class Line:
    """Jobs of two tenants before one engine with one place, and the order in which they are taken up."""

    def __init__(self, service: Service, stub: StubProvider) -> None:
        self._service, self._stub = service, stub
        self._teams: dict[str, StoredTeam] = {}
        self.runs: list[str] = []
        stub.on("work", as_json(report()))

    async def block(self) -> None:
        """Have the only place taken, until `open`."""
        self._stub.on("work", call=1, reply=held(as_json(report())))
        await self.post("first", "blocker")
        await self._stub.seen(1)

    async def post(self, tenant: str, name: str, priority: int = 0) -> None:
        """A job of a tenant, whose only task has that name."""
        if tenant not in self._teams:
            await put_team(self._service.database, tenant, CREW)
            stored = await team_named(self._service.database, tenant, CREW.name)
            assert stored is not None
            self._teams[tenant] = stored
        body = {"objective": "Find out.", "team": "crew", "priority": priority, "plan": plan_of(task(name))}
        job = Job.model_validate(body)
        assert job.plan is not None
        plan = validated(job.plan, ["writer"], 12)
        new = NewRun(new_run_id(), job, self._teams[tenant], CREW.limits, plan)
        await accept(self._service.database, tenant, new)
        self.runs.append(new.run_id)

    async def open(self, calls: int) -> list[str]:
        """Free the place; the names in the order in which so many jobs are taken up from there on."""
        self._stub.release()
        await self._stub.seen(1 + calls, timeout_s=60)
        return [name_in(seen) for seen in self._stub.log[1:]]


def name_in(seen: SeenRequest) -> str:
    """The name of the task that a request is about."""
    return str(seen.body).partition("Do ")[2].partition(".")[0]


async def test_a_tenant_with_one_job_does_not_stand_behind_all_the_jobs_of_another(
    services: Services, stub: StubProvider
) -> None:
    line = Line(await services.start(runs_at_once=1), stub)
    await line.block()
    for number in range(20):
        await line.post("first", f"a{number}")
    await line.post("second", "b")

    taken = await line.open(21)

    assert taken.index("b") <= 2
    assert [name for name in taken if name != "b"] == [f"a{number}" for number in range(20)]


async def test_a_higher_priority_goes_first_whoever_asks(services: Services, stub: StubProvider) -> None:
    line = Line(await services.start(runs_at_once=1), stub)
    await line.block()
    for number in range(4):
        await line.post("first", f"a{number}")
        await line.post("first", f"low{number}", priority=-1)
    for number in range(3):
        await line.post("second", f"high{number}", priority=5)

    taken = await line.open(11)

    assert taken[:3] == ["high0", "high1", "high2"]
    assert taken[3:7] == [f"a{number}" for number in range(4)]
    assert taken[7:] == [f"low{number}" for number in range(4)]


async def test_jobs_of_another_priority_do_not_set_a_tenant_back(services: Services, stub: StubProvider) -> None:
    line = Line(await services.start(runs_at_once=1), stub)
    await line.block()
    for number in range(8):
        await line.post("second", f"low{number}", priority=-1)
    for number in range(8):
        await line.post("first", f"a{number}")
    await line.post("second", "b")

    taken = await line.open(17)

    assert taken.index("b") <= 2
    assert taken[9:] == [f"low{number}" for number in range(8)]


async def test_jobs_that_wait_get_their_turn_while_another_tenant_keeps_posting(
    services: Services, stub: StubProvider
) -> None:
    line = Line(await services.start(runs_at_once=1), stub)

    async def answer(seen: SeenRequest) -> Answer:
        if len(line.runs) < 40:
            await line.post("second", f"b{len(line.runs)}")
        return as_json(report())

    stub.on("work", answer)
    await line.block()
    for number in range(8):
        await line.post("first", f"a{number}")
    for _ in range(8):
        await line.post("second", f"b{len(line.runs)}")

    taken = await line.open(39)

    places = [taken.index(f"a{number}") for number in range(8)]
    assert places == sorted(places)
    assert places[-1] <= 2 * 8 + 2
