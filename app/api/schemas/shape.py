"""What the shapes of answers share. `resources` builds the answers; the tests hold the two equal."""

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A shape whose fields are described where they are declared."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Page(Shape):
    """A page of a list."""

    has_more: bool
    """Whether there is a further page."""
    next_cursor: str | None
    """Send it as `after` for the next page; null on the last one."""
