"""Every command: where it is, and what the list of commands says that it does.

A command's module is loaded when the command is typed, so that the list and the version are there at once.
"""

from typing import NamedTuple


class Place(NamedTuple):
    """Where a command is, as module:name of a function, or of a `typer.Typer` that holds several; and what it does."""

    where: str
    does: str


_RUNS = {
    "run": Place("app.terminal.run_command:run", "Post a job, and show its run live."),
    "watch": Place("app.terminal.watch_command:watch", "Show a run live, to its end."),
    "runs": Place("app.terminal.runs_command:runs", "List runs, newest first."),
    "show": Place("app.terminal.show_command:show", "Show how a run stands and what came of it."),
    "plan": Place("app.terminal.plan_command:plan", "Show the plan of a run as a tree."),
    "trace": Place("app.terminal.trace_command:trace", "Show where the time of a run went."),
    "answer": Place("app.terminal.answer_command:answer", "Answer what a run asks."),
    "approve": Place("app.terminal.run_actions:approve", "Approve a plan that waits for it."),
    "edit": Place("app.terminal.edit_command:edit", "Edit a plan that waits for approval."),
    "reject": Place("app.terminal.run_actions:reject", "Reject a plan that waits for approval."),
    "cancel": Place("app.terminal.run_actions:cancel", "Cancel a run."),
    "retry": Place("app.terminal.run_actions:retry", "Begin a new run of the same job."),
    "resynthesize": Place("app.terminal.run_actions:resynthesize", "Have another answer made of the same results."),
    "open": Place("app.terminal.run_actions:open_page", "Open the page of a run."),
}

_SERVICES = {
    "teams": Place("app.terminal.team_commands:teams", "List the teams, or show one with its workers."),
    "tools": Place("app.terminal.team_commands:tools", "List the tools that workers may be given."),
    "profile": Place("app.terminal.profile_commands:profile", "Services by their names, with their keys."),
}

OWN = {
    "serve": Place("app.cli.processes:serve", "Serve the API, and execute runs."),
    "engine": Place("app.cli.processes:engine", "Execute runs without serving the API."),
    "migrate": Place("app.cli.migration:migrate", "Bring the database's schema up to date."),
    "doctor": Place("app.cli.doctor:doctor", "Check what a process needs, and say what to do."),
    "keys": Place("app.cli.keys:keys", "Keys of the API, each of a tenant."),
    "limits": Place("app.cli.limits:limits", "Limits of tenants and keys: requests, runs, money."),
    "retention": Place("app.cli.retention:retention", "For how long tenants keep ended runs."),
    "engines": Place("app.cli.operators:engines", "The processes that execute runs."),
    "intake": Place("app.cli.operators:intake", "The intake of jobs: whose are not taken in."),
    "team": Place("app.cli.team_check:team", "Team files: what is wrong with one, and their schema."),
    "eval": Place("app.cli.evaluation:evaluate", "Run suites of labelled cases, and report."),
    "openapi": Place("app.cli.kept_files:openapi", "Write the API's OpenAPI description."),
    "states": Place("app.cli.kept_files:states", "Print the state machines as diagrams."),
}
"""Those that work on this installation, whatever service may be meant."""

PANELS = {"Jobs and runs": _RUNS, "Services": _SERVICES, "A service of your own": OWN}
"""The commands as they are listed, under their titles."""
COMMANDS = {name: place for panel in PANELS.values() for name, place in panel.items()}
