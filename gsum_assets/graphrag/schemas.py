"""Schemas of the language model's replies; `gsum_resources/llm/replies.py` drops invalid items."""

from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    create_model,
    model_validator,
)

from gsum_assets.corpus.names import clean_name, name_key
from gsum_assets.graphrag.settings import OTHER


def _name_or_none(text: str) -> str:
    """Return the cleaned name, or an empty text if there is none, as in "-"."""
    with suppress(ValueError):
        return clean_name(text)
    return ""


Name = Annotated[str, AfterValidator(clean_name)]
NameOrNone = Annotated[str, AfterValidator(_name_or_none)]
# true and false without quotes are as good
Status = Annotated[
    Literal["true", "false", "suspected"], BeforeValidator(lambda value: str(value).strip().lower())
]


class Relationship(BaseModel):
    """How two entities are connected."""

    source: Name = Field(description="Name as in entities")
    target: Name = Field(description="Name as in entities")
    description: str = Field(description="What connects them")

    @model_validator(mode="after")
    def _joins_two(self) -> "Relationship":
        if name_key(self.source) == name_key(self.target):
            raise ValueError("an entity is related to itself; name two entities")
        return self


class GradedRelationship(Relationship):
    """A relationship with its strength."""

    strength: int = Field(default=1, ge=1, le=10, description="1 (loose) to 10 (essential).")


class Claim(BaseModel):
    """Something that is said to be so of an entity."""

    subject: Name = Field(description="The entity it is about, as in entities.")
    object: NameOrNone = Field(default="", description="The other entity; empty: none.")
    type: str = Field(default="", description="Kind of claim, one to three words.")
    status: Status = Field(
        default="suspected", description="true, false or suspected, as the text has it."
    )
    description: str = Field(description="The claim in one sentence.")
    start_date: str = Field(default="", description="Since when, as the text says; empty: unsaid.")
    end_date: str = Field(default="", description="Until when, as the text says; empty: unsaid.")


class QuotedClaim(Claim):
    """A claim with the words that support it."""

    quote: str = Field(default="", description="The text's own words.")


class Finding(BaseModel):
    """One insight of a report, and what it rests on."""

    summary: str = Field(description="The insight in one sentence.")
    explanation: str = Field(description="The insight at length, in two to five sentences.")
    references: list[int] = Field(description="Numbers of the passages that it rests on.")


class Report(BaseModel):
    """A report on a community of entities."""

    title: str = Field(min_length=1, description="What the community is about, at most ten words.")
    summary: str = Field(min_length=1, description="The whole in two to four sentences.")
    rating: int = Field(ge=0, le=10, description="Importance, 0 (none) to 10 (utmost).")
    rating_explanation: str = Field(default="", description="One sentence on the rating.")
    findings: list[Finding] = Field(min_length=1, description="The most important insights.")


@cache
def extraction_schema(
    types: tuple[str, ...], claims: bool, in_full: bool = False
) -> type[BaseModel]:
    """Return the schema of an extraction: `entities`, `relationships` and, if wanted, `claims`.

    The type 'other' replaces any unknown one. `in_full`: with strengths and quotations.
    """
    allowed = tuple(dict.fromkeys([*types, OTHER]))

    def known(kind: str) -> str:
        return kind.strip().lower() if kind.strip().lower() in allowed else OTHER

    kind = Annotated[str, AfterValidator(known)]
    entity = create_model(
        "Entity",
        __doc__="A thing that the text names.",
        name=(Name, Field(description="Name as the text writes it")),
        type=(kind, Field(json_schema_extra={"enum": list(allowed)})),
        description=(str, Field(description="What the text says about it")),
    )
    relationship = GradedRelationship if in_full else Relationship
    claim = QuotedClaim if in_full else Claim
    fields: dict[str, Any] = {
        "entities": (list[entity], ...),
        "relationships": (list[relationship], Field(default_factory=list)),
    }
    if claims:
        fields["claims"] = (list[claim], Field(default_factory=list))
    return create_model("Extraction", __doc__="What a text names and tells.", **fields)
