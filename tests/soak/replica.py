"""The service with the example tools beside its own, for a team of the soak that uses them."""

import os
from pathlib import Path

import app.runtime
from app.cli import main
from app.tools.catalogue import catalogue
from app.tools.documents import Documents
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool
from tests.support.effects import Ledger, Switch, example_tools

SLOW = Switch(pause_s=0.2)
"""Tools slow enough that a process often dies in the middle of one."""


def with_examples(sandbox: Sandbox, pages: PageFetcher, documents: Documents | None = None) -> dict[str, Tool]:
    """The catalogue, and the tools whose effects are in the ledger beside the team's file."""
    ledger = Ledger(Path(os.environ["CHARGEHAND_TEAMS_DIR"], "ledger"))
    return catalogue(sandbox, pages, documents) | {tool.name: tool for tool in example_tools(ledger, SLOW)}


if __name__ == "__main__":
    vars(app.runtime)["catalogue"] = with_examples
    main()
