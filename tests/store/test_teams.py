import asyncio
from pathlib import Path

import psycopg
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.store.teams import all_teams, put_team, team_named
from app.team_files import BUILT_IN_TEAMS
from tests.support.fixtures import Services
from tests.support.service import CREW, Service

OTHER = CREW.model_copy(update={"description": "Other."})


async def versions(service: Service) -> int:
    stored = await team_named(service.database, DEFAULT_TENANT, CREW.name)
    return stored.version if stored else 0


async def test_a_team_gets_a_version_when_it_has_changed_and_only_then(service: Service) -> None:
    found = []
    for team in (CREW, CREW, OTHER, OTHER, CREW):
        await put_team(service.database, DEFAULT_TENANT, team)
        found.append(await versions(service))

    assert found == [1, 1, 2, 2, 3]


async def test_a_team_is_found_by_name_in_its_newest_version_and_by_version_for_ever(service: Service) -> None:
    await put_team(service.database, DEFAULT_TENANT, CREW)
    await put_team(service.database, DEFAULT_TENANT, OTHER)

    newest, first = [await team_named(service.database, DEFAULT_TENANT, name) for name in ("crew", "crew@1")]

    assert newest is not None
    assert (newest.team, newest.version) == (OTHER, 2)
    assert first is not None
    assert (first.team, first.version) == (CREW, 1)
    assert await team_named(service.database, DEFAULT_TENANT, "crew@3") is None
    assert await team_named(service.database, DEFAULT_TENANT, "nobody") is None
    assert await team_named(service.database, "another tenant", "crew") is None


async def test_many_processes_that_store_the_same_team_make_one_version(service: Service) -> None:
    await asyncio.gather(*(put_team(service.database, DEFAULT_TENANT, CREW) for _ in range(8)))

    assert await versions(service) == 1


async def test_all_teams_are_listed_once_by_name(service: Service) -> None:
    await put_team(service.database, DEFAULT_TENANT, CREW)
    await put_team(service.database, DEFAULT_TENANT, OTHER)

    listed = [(stored.team.name, stored.version) for stored in await all_teams(service.database, DEFAULT_TENANT)]

    assert listed == sorted(listed)
    assert ("crew", 2) in listed
    assert len({name for name, _ in listed}) == len(listed)


async def test_a_run_keeps_the_version_it_was_given(service: Service) -> None:
    run_id = await service.submit(team=CREW)
    await put_team(service.database, DEFAULT_TENANT, OTHER)

    assert (await service.folded(run_id)).brief.team == CREW


BUILT_IN = CREW.model_copy(update={"description": "As released."})
NEXT_BUILT_IN = CREW.model_copy(update={"description": "As released next."})


async def newest(service: Service) -> str:
    stored = await team_named(service.database, DEFAULT_TENANT, CREW.name)
    assert stored is not None
    return stored.team.description


async def test_a_built_in_team_gives_way_to_the_next_release_and_to_operators(service: Service) -> None:
    for team, origin, expected in (
        (BUILT_IN, "built_in", BUILT_IN),
        (NEXT_BUILT_IN, "built_in", NEXT_BUILT_IN),
        (CREW, "operator", CREW),
        (NEXT_BUILT_IN, "built_in", CREW),
        (OTHER, "operator", OTHER),
        (BUILT_IN, "built_in", OTHER),
    ):
        await put_team(service.database, DEFAULT_TENANT, team, origin=origin)  # type: ignore[arg-type]
        assert await newest(service) == expected.description


async def test_a_built_in_team_that_an_operator_brings_as_it_is_becomes_the_operators(service: Service) -> None:
    await put_team(service.database, DEFAULT_TENANT, BUILT_IN, origin="built_in")
    await put_team(service.database, DEFAULT_TENANT, BUILT_IN, origin="operator")
    await put_team(service.database, DEFAULT_TENANT, NEXT_BUILT_IN, origin="built_in")

    assert await newest(service) == BUILT_IN.description
    assert await versions(service) == 1


@pytest.mark.parametrize("is_first", [True, False])
async def test_of_teams_without_an_origin_those_of_the_first_release_are_built_in(
    service: Service, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    await put_team(service.database, DEFAULT_TENANT, BUILT_IN, origin="built_in")
    sql.execute("UPDATE teams SET origin = NULL")
    if is_first:
        monkeypatch.setattr("app.store.teams.FIRST_BUILT_IN", [BUILT_IN.digest])

    await put_team(service.database, DEFAULT_TENANT, NEXT_BUILT_IN, origin="built_in")

    assert await newest(service) == (NEXT_BUILT_IN if is_first else BUILT_IN).description


async def test_a_process_without_a_team_folder_leaves_the_teams_of_others(services: Services, tmp_path: Path) -> None:
    general = (BUILT_IN_TEAMS / "general.yaml").read_text(encoding="utf-8")
    (tmp_path / "general.yaml").write_text(general.replace("A capable", "Ours. A capable", 1), encoding="utf-8")
    await services.start(engine=False, teams_dir=tmp_path)

    service = await services.start(engine=False)

    stored = await team_named(service.database, DEFAULT_TENANT, "general")
    assert stored is not None
    assert stored.team.description.startswith("Ours.")
