"""Chargehand: supervisor-worker orchestration as an API, on one Postgres."""

version = "0.1.0"
"""Of this build. The package, the command line and the API take it from here."""
