"""The JSON Schema of team files, by which editors complete them and say what a field means."""

from typing import Any

from app.domain.team import Team

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def team_file_schema() -> dict[str, Any]:
    """The schema (draft 2020-12), in the order in which fields are declared."""
    schema = Team.model_json_schema()
    definitions = schema.pop("$defs")
    about = "A team of Chargehand, as it stands in a team file and in the body of PUT /v1/teams/{name}."
    return {"$schema": DIALECT, **schema, "title": "Team file", "description": about, "$defs": definitions}
