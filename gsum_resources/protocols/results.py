"""Default shapes of structured replies; methods hand them to any language model as `schema`.

The field descriptions reach chat models as directions. Methods may define their own models:
`extractive` fills any model whose fields carry names that it knows (`text/filling.py`).
"""

from pydantic import BaseModel, Field


class Entity(BaseModel):
    """A thing that a text names."""

    name: str = Field(description="Name as the text writes it, without an article.")
    type: str = Field(description="One of person, organization, place, event, thing, concept.")
    description: str = Field(description="What the text says about it, in one or two sentences.")


class Relationship(BaseModel):
    """How two entities of the same reply are connected."""

    source: str = Field(description="Name of the first entity.")
    target: str = Field(description="Name of the second entity.")
    relation: str = Field(default="", description="The connection in at most three words.")
    description: str = Field(description="What the text says about the connection.")
    strength: int = Field(default=1, ge=1, le=10, description="1 (loose) to 10 (essential).")


class Entities(BaseModel):
    """Entities of a text and their relationships."""

    entities: list[Entity]
    relationships: list[Relationship] = Field(default_factory=list)


class Fact(BaseModel):
    """One statement that stands on its own."""

    statement: str = Field(description="One fact in one sentence.")
    elements: list[str] = Field(description="Up to three key nouns or names of the statement.")


class Facts(BaseModel):
    """The facts of a text."""

    facts: list[Fact]


class Topic(BaseModel):
    """What a text is about."""

    topic: str = Field(description="A title of at most eight words.")


class Score(BaseModel):
    """How much a text helps to answer a question."""

    score: int = Field(ge=1, le=10, description="1 (unrelated) to 10 (answers it).")


class ReasonedScore(BaseModel):
    """How much a text helps to answer a question, and why, in this order."""

    reason: str = Field(
        default="",
        description="What in the text helps, in at most twenty words; or that nothing does.",
    )
    score: int = Field(ge=1, le=10, description="1 (unrelated) to 10 (answers it).")


class TopicScore(BaseModel):
    """Topic of a text and its relevance to a question."""

    topic: str = Field(description="A title of at most eight words.")
    relevance: int = Field(ge=1, le=10, description="1 (unrelated) to 10 (answers it).")


class KeyPoint(BaseModel):
    """One thing that a part of the material says about a question."""

    description: str = Field(description="The point in one or two sentences.")
    score: int = Field(ge=0, le=100, description="0 (of no help) to 100 (answers it).")
    references: list[int] = Field(default_factory=list, description="Passages that say it.")


class KeyPoints(BaseModel):
    """What a part of the material says about a question; nothing: an empty list."""

    points: list[KeyPoint]
