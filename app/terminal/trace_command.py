"""`chargehand trace`: where the time of a run went, or its whole trace as JSON."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from app.client import Client
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.options import AsJson
from app.terminal.output import console, print_json, print_lines
from app.terminal.service import Service, at_service
from app.terminal.waterfall import waterfall
from app.terminal.which_run import run_meant

AsOtlp = Annotated[bool, typer.Option("--otlp", help="Print it as OTLP/JSON, for collectors of traces.")]
Content = Annotated[
    bool, typer.Option("--content", help="With --json or --otlp: also what models were sent and have answered.")
]


@at_service
def trace(
    service: Service, run: RunName, as_json: AsJson = False, otlp: AsOtlp = False, content: Content = False
) -> None:
    """Show tasks, attempts and calls of a run on one time axis."""
    if content and not (as_json or otlp):
        raise CommandRefused("--content is shown by --json and --otlp alone: add one of them")
    params = ({"format": "otlp"} if otlp else {}) | ({"include": "content"} if content else {})

    async def found(client: Client) -> Mapping[str, Any]:
        return await client.trace(await run_meant(client, run), **params)

    document = service.ask(found)
    if as_json or otlp:
        print_json(document)
        return
    to = console()
    print_lines(to, waterfall(document, to.width))
