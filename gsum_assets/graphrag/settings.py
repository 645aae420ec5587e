"""The table `[graphrag]` of `corpus.toml`; lengths are in word pieces.

Sections are those of the paper (arXiv 2404.16130). Values that it does not give are those of
Microsoft's package where that is named, and ours otherwise.
"""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from gsum_resources.settings.table import SettingsTable

OTHER = "other"  # type of entities that have none of the configured types


class ExtractionSettings(SettingsTable):
    """Table `[graphrag.extraction]`: extraction from chunks.

    Without a language model each chunk is read alone, once, and claims are free.
    """

    entity_types: list[str] = Field(
        default=["person", "organization", "place", "event", "thing", "concept"],
        min_length=1,
        description="types that an entity may have; 'other' is always added (2.2)",
    )
    passage_tokens: int = Field(
        default=1200,
        ge=0,
        description="longest passage of a request, of neighbouring chunks together (the package); "
        "0: each chunk alone",
    )
    gleanings: int = Field(
        default=1,
        ge=0,
        description="most further requests for missed items (2.2; the package: 1), each only where "
        "rules find names that the reply lacks (ours)",
    )
    claims: bool | None = Field(
        default=None,
        description="also extract claims, in the same request (2.2; the package: no); unset: only "
        "without a language model",
    )

    @field_validator("entity_types")
    @classmethod
    def _are_names(cls, types: list[str]) -> list[str]:
        if bad := [name for name in types if not name.strip() or name != name.strip().lower()]:
            raise ValueError(
                f"{bad[0]!r} is not a type: write types in lower case, without outer blanks"
            )
        return types


class MergingSettings(SettingsTable):
    """Table `[graphrag.merging]`: merging of mentions into entities and relationships."""

    aliases: bool = Field(
        default=True, description="merge other names of one entity where there is evidence (ours)"
    )
    apart: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        default=[],
        description="pairs of names that are never merged, such as [['Lin', 'Dr Lin']] (ours)",
    )


class CommunitySettings(SettingsTable):
    """Table `[graphrag.communities]`: hierarchical communities (2.4)."""

    max_size: int = Field(
        default=10,
        ge=2,
        description="most entities of a community that is not split (the package)",
    )
    method: Literal["leiden", "louvain"] = Field(
        default="louvain",
        description="'louvain': in the order of ids, so that an edit changes few communities and "
        "requests few reports again (ours); 'leiden': of the paper (2.4), any edit of a large "
        "component changes about a third of them",
    )


class ReportSettings(SettingsTable):
    """Table `[graphrag.reports]`: reports on communities (2.5)."""

    prompt_tokens: int = Field(
        default=8000, ge=1000, description="longest prompt of a report (3.5; the package)"
    )
    max_words: int = Field(
        default=400,
        ge=50,
        description="length of a report, words (ours); one on a divided community may be longer",
    )


class AnswerSettings(SettingsTable):
    """Table `[graphrag.answers]`: global and local answers (2.6)."""

    prompt_tokens: int = Field(
        default=8000, ge=500, description="longest prompt, of map and of reduce (3.5: 8k)"
    )


class LocalSettings(SettingsTable):
    """Table `[graphrag.local]`: what local answers read, as local search of the package."""

    n_entities: int = Field(default=10, ge=1, description="nearest entities (the package)")


class GraphRagSettings(SettingsTable):
    """Table `[graphrag]`; a change in one of its tables affects only the assets that read it."""

    extraction: ExtractionSettings = ExtractionSettings()
    merging: MergingSettings = MergingSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    answers: AnswerSettings = AnswerSettings()
    local: LocalSettings = LocalSettings()
