from tests.support.summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
