"""Schemas of the language model's replies; the docstrings of classes are part of the requests."""

from pydantic import BaseModel, Field


class Relation(BaseModel):
    """How one core element bears on another."""

    source: str = Field(description="The element that acts, causes or contains, as in elements.")
    target: str = Field(description="The other element, as in elements.")
    relation: str = Field(description="The connection in at most three words.")


class Extraction(BaseModel):
    """What a text says, taken apart."""

    facts: list[str] = Field(description="Every fact in a sentence of its own.")
    elements: list[str] = Field(description="The core elements of the text.")
    relations: list[Relation] = Field(
        default_factory=list, description="Directed connections between these elements."
    )


class Keywords(BaseModel):
    """What a question is about."""

    keywords: list[str] = Field(description="Names, things, actions and conditions to search for.")


class LookUp(BaseModel):
    """What has to be read again."""

    references: list[int] = Field(description="Numbers of the summaries, the most needed first.")


class Pause(BaseModel):
    """Where a reader would pause."""

    pause: int = Field(ge=1, description="Number of the paragraph after which to pause.")
