"""What every fact is: a frozen value with a type that names it in logs."""

from typing import ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict

from app.domain.flaws import Flaw


class Fact(BaseModel):
    """Something that has happened to a run, without the when and where: the `data` of an event.

    Older processes ignore fields they do not know, so a fact may gain fields with defaults, and never lose one.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    type: ClassVar[str]
    """Its name in logs, streams and traces, for good."""

    @classmethod
    def of(cls, value: BaseModel) -> Self:
        """The fact that consists of `value`, an instance of one of its own bases."""
        assert issubclass(cls, type(value))
        return cast(Self, cls.model_construct(**value.__dict__))


class Rejected(Fact):
    """What is wrong with what a model wrote."""

    errors: tuple[Flaw, ...]
    """What is wrong, place by place."""
    note: str | None
    """What the model was told; null when it was not asked again."""
