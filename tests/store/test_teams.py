import asyncio

from app.runtime import TENANT
from app.store.teams import all_teams, put_team, team_named
from tests.support.service import CREW, Service

OTHER = CREW.model_copy(update={"description": "Other."})


async def versions(service: Service) -> int:
    stored = await team_named(service.database, TENANT, CREW.name)
    return stored.version if stored else 0


async def test_a_team_gets_a_version_when_it_has_changed_and_only_then(service: Service) -> None:
    found = []
    for team in (CREW, CREW, OTHER, OTHER, CREW):
        await put_team(service.database, TENANT, team)
        found.append(await versions(service))

    assert found == [1, 1, 2, 2, 3]


async def test_a_team_is_found_by_name_in_its_newest_version_and_by_version_for_ever(service: Service) -> None:
    await put_team(service.database, TENANT, CREW)
    await put_team(service.database, TENANT, OTHER)

    newest, first = [await team_named(service.database, TENANT, name) for name in ("crew", "crew@1")]

    assert newest is not None
    assert (newest.team, newest.version) == (OTHER, 2)
    assert first is not None
    assert (first.team, first.version) == (CREW, 1)
    assert await team_named(service.database, TENANT, "crew@3") is None
    assert await team_named(service.database, TENANT, "nobody") is None
    assert await team_named(service.database, "another tenant", "crew") is None


async def test_many_processes_that_store_the_same_team_make_one_version(service: Service) -> None:
    await asyncio.gather(*(put_team(service.database, TENANT, CREW) for _ in range(8)))

    assert await versions(service) == 1


async def test_all_teams_are_listed_once_by_name(service: Service) -> None:
    await put_team(service.database, TENANT, CREW)
    await put_team(service.database, TENANT, OTHER)

    listed = [(stored.team.name, stored.version) for stored in await all_teams(service.database, TENANT)]

    assert listed == sorted(listed)
    assert ("crew", 2) in listed
    assert len({name for name, _ in listed}) == len(listed)


async def test_a_run_keeps_the_version_it_was_given(service: Service) -> None:
    run_id = await service.submit(team=CREW)
    await put_team(service.database, TENANT, OTHER)

    assert (await service.folded(run_id)).brief.team == CREW
