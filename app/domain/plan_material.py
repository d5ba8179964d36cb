"""What a plan that was made from a template is about: each thing once, with the tasks that are to look at it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

LeftOutReason = Literal["without", "only", "binary", "tested", "needs_none", "omitted", "edited"]
"""Why no task looks at a thing: a pattern of the template leaves it out (`without`); none of those that say what is
taken fits it (`only`); it is a `binary` file, of which a diff shows nothing; where tasks are for what is untested, it
is `tested` already, or `needs_none` of its own; its task is `omitted`, since there was nothing for what it depends on;
or the plan was `edited`, and has no task any more that is shown it."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class LookPlanned(_Value):
    """A task that is to look at a thing."""

    task: str
    """Id of the task."""
    whole: bool = True
    """Whether it is shown all of it, and of what it is held against; false where a text is cut, or only some parts of a
    split task are shown it."""
    beside_cut: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Names of the inputs that it is held against and is shown in part."""


class Material(_Value):
    """A thing that tasks of a template are made for: a file of a diff, an input, a function, a section."""

    input: str
    """Name of the input that it is in."""
    item: str
    """Its name: the path of a file, the name of an input or a function, a heading."""
    lines: str
    """Its lines in that input."""
    tasks: tuple[LookPlanned, ...] = ()
    """The tasks that are to look at it; none where it is left out."""
    left_out: LeftOutReason | None = None
    """Why none is."""
    pattern: str | None = None
    """The pattern that leaves it out, where one does."""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.input, self.item
