"""The table `[jerr]` of `corpus.toml`: the settings of JERR and of its two baselines.

Sections are those of the JERR paper unless another one is named.
"""

from pydantic import Field, model_validator

from gsum_resources.settings.table import SettingsTable


class ChunkingSettings(SettingsTable):
    """Table `[jerr.chunking]`: line chunks (3.2)."""

    max_tokens: int = Field(
        default=2000, ge=50, description="longest line chunk, word pieces (4.1; QuALITY: 600)"
    )


class SearchSettings(SettingsTable):
    """Table `[jerr.search]`: the search of the graph (3.4, appendix B)."""

    n_nodes: int = Field(default=5, ge=1, description="best nodes that are read (4.1, 4.3)")
    n_simulations: int = Field(default=1000, ge=1, description="simulations per question (ours)")


class AnswerSettings(SettingsTable):
    """Table `[jerr.answers]`: look-ups and the context of an answer (3.4)."""

    prompt_tokens: int = Field(default=16_000, ge=500, description="longest prompt (ours)")
    n_reread: int = Field(
        default=5, ge=0, description="line chunks or pages read again (ReadAgent: 5 or 6)"
    )


class PageSettings(SettingsTable):
    """Table `[jerr.pages]`: the pages of ReadAgent (arXiv 2402.09727, 3.1)."""

    min_words: int = Field(default=280, ge=1, description="shortest page, words")
    max_words: int = Field(default=600, ge=2, description="longest page, words")
    gist_words: int = Field(default=80, ge=10, description="length of a gist, words (ours)")

    @model_validator(mode="after")
    def _is_a_span(self) -> "PageSettings":
        if self.min_words >= self.max_words:
            raise ValueError(
                f"min_words ({self.min_words}) must be smaller than max_words ({self.max_words})"
            )
        return self


class LongSettings(SettingsTable):
    """Table `[jerr.long]`: the long units of LongRAG (arXiv 2406.15319, 3.1)."""

    unit_tokens: int = Field(default=4000, ge=100, description="longest unit, word pieces")
    n_units: int = Field(default=4, ge=1, description="units in a context (its table 2: 4)")


class JerrSettings(SettingsTable):
    """Table `[jerr]`; a change in one of its tables affects only the assets that read it."""

    chunking: ChunkingSettings = ChunkingSettings()
    search: SearchSettings = SearchSettings()
    answers: AnswerSettings = AnswerSettings()
    pages: PageSettings = PageSettings()
    long: LongSettings = LongSettings()
