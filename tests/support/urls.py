"""Database URLs, changed."""

from urllib.parse import urlsplit, urlunsplit


def with_parameters(url: str, parameters: str) -> str:
    """The URL with further parameters."""
    return f"{url}&{parameters}" if parameters else url


def with_user(url: str, user: str) -> str:
    """The URL for another user."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@"))
