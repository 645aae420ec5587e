"""The table `[hippo_rag]` of `corpus.toml`."""

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class LinkingSettings(SettingsTable):
    """Table `[hippo_rag.linking]`: from a question to triples."""

    n_triples: int = Field(
        default=5, ge=1, description="triples linked with a question (3.3, query to triple)"
    )
    recognition: bool = Field(
        default=True,
        description="whether a language model chooses among these triples (3.3); without one all "
        "stay",
    )


class HippoRagSettings(SettingsTable):
    """Table `[hippo_rag]`: settings of HippoRAG 2 (arXiv 2502.14802)."""

    linking: LinkingSettings = LinkingSettings()
