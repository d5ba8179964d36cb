"""What ends a command before it has done what it was to do."""

BAD_INPUT = 2
"""The exit code of what can be mended by whoever typed the command."""


class CommandRefused(Exception):
    """The command cannot be carried out; the message is one line for whoever typed it."""
