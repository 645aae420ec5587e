"""The table `[judges]` of `corpus.toml`: what is judged, and how often."""

from pydantic import Field, model_validator

from gsum_assets.corpus.queries import QuestionKind
from gsum_resources.settings.table import SettingsTable


class JudgesSettings(SettingsTable):
    """Table `[judges]`; every verdict is a call of the judging model, so the default is none."""

    methods: list[str] = Field(
        default_factory=list,
        description="methods or families whose answers are judged; empty: none",
    )
    pairwise: bool = Field(
        default=True, description="each two methods side by side (GraphRAG, section 3)"
    )
    one_criterion_per_call: bool = Field(
        default=False,
        description="whether each pairwise criterion has its own call, as in GraphRAG: six times "
        "as many, and relevance is to references where there are some, as in LightPAL; otherwise "
        "one call for all, as in LightRAG",
    )
    ratings: bool = Field(
        default=True, description="each answer alone: G-Eval, and LLM-Rater with references"
    )
    kinds: list[QuestionKind] = Field(
        default=["general"],
        min_length=1,
        description="kinds of questions; 'general', the global ones, as in GraphRAG; ours",
    )
    splits: list[str] = Field(default_factory=list, description="train, dev, test; empty: all")
    max_questions: int = Field(
        default=50, ge=1, description="drawn by the hash of their ids; ours, GraphRAG used 125"
    )
    repeats: int = Field(default=1, ge=1, description="requests per verdict; ours, GraphRAG has 5")
    temperature: float = Field(default=0.0, ge=0, description="sampling; LightPAL's 0: greedy")
    max_passage_characters: int = Field(
        default=36_000,
        ge=100,
        description="length of the passages shown for consistency, best first; ours: about 8,000 "
        "tokens of English, GraphRAG's context",
    )

    @model_validator(mode="after")
    def _repeats_differ(self) -> "JudgesSettings":
        if self.repeats > 1 and not self.temperature:
            raise ValueError(
                f"repeats is {self.repeats}, but at temperature 0 all requests are equal: "
                "raise temperature, to 0.7 for example, or set repeats to 1"
            )
        return self

    @model_validator(mode="after")
    def _something_is_judged(self) -> "JudgesSettings":
        if not (self.pairwise or self.ratings):
            raise ValueError("pairwise and ratings are off; leave methods empty to judge nothing")
        return self


def judges_skipped(settings: JudgesSettings, model_identity: str) -> str | None:
    """Return why nothing is judged, or None."""
    if not settings.methods:
        return (
            "no methods are named to be judged; name them in corpus.toml, table [judges]: "
            'methods = ["bm25", "gor"]'
        )
    if not settings.ratings and len(set(settings.methods)) < 2:
        return (
            f"only the method '{settings.methods[0]}' is named, and pairs need two; "
            "name another in corpus.toml, [judges] methods, or set ratings = true"
        )
    if model_identity.startswith("extractive"):
        return (
            "the model 'extractive' cannot judge; choose a language model that can in gsum.toml, "
            "table [judge] (or [llm])"
        )
    return None
