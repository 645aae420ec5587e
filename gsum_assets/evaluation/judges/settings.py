"""The table `[judges]` of `corpus.toml`: what is judged, and how often."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gsum_assets.corpus.queries import QuestionKind


class JudgesSettings(BaseModel):
    """Table `[judges]`; every verdict is a call of the judging model, so nothing is by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    methods: list[str] = Field(
        default_factory=list, description="methods whose answers are judged; empty: none"
    )
    pairwise: bool = Field(
        default=True, description="each two methods side by side (GraphRAG, section 3)"
    )
    one_criterion_per_call: bool = Field(
        default=False,
        description="whether each pairwise criterion is a call of its own, as in GraphRAG: six "
        "times as many; else one call asks for all, as in LightRAG",
    )
    ratings: bool = Field(
        default=True, description="each answer alone: G-Eval, and LLM-Rater with references"
    )
    kinds: list[QuestionKind] = Field(
        default=["general"],
        min_length=1,
        description="of question; 'general', the global ones, as GraphRAG judges; ours",
    )
    splits: list[str] = Field(default_factory=list, description="train, dev, test; empty: all")
    max_questions: int = Field(
        default=50, ge=1, description="drawn by the hash of their ids; ours, GraphRAG took 125"
    )
    repeats: int = Field(
        default=1, ge=1, description="times that each is asked; ours, GraphRAG asks 5 times"
    )
    temperature: float = Field(default=0.0, ge=0, description="of sampling; LightPAL's 0: greedy")
    max_passage_characters: int = Field(
        default=36_000,
        ge=100,
        description="of an answer's passages shown for consistency, best first; ours: about 8,000 "
        "tokens of English, GraphRAG's context",
    )

    @model_validator(mode="after")
    def _repeats_differ(self) -> "JudgesSettings":
        if self.repeats > 1 and not self.temperature:
            raise ValueError(
                f"repeats is {self.repeats}, but at temperature 0 each asks the same thing again: "
                "raise temperature, to 0.7 for example, or set repeats to 1"
            )
        return self

    @model_validator(mode="after")
    def _something_is_judged(self) -> "JudgesSettings":
        if not (self.pairwise or self.ratings):
            raise ValueError(
                "pairwise and ratings are both off; to judge nothing leave methods empty"
            )
        return self
