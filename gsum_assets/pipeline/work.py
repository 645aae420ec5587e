"""Kinds of work by asset; each kind may have a language model of its own."""

_WORK = {
    "extraction": (
        "graphrag/extractions",
        "graphrag/entity_mentions",
        "graphrag/relationship_mentions",
        "graphrag/claims",
        "graphrag/entities",
        "graphrag/relationships",
        "jerr/synopses",
        "jerr/atomic_facts",
        "jerr/elements",
        "jerr/relations",
        "jerr/pages",
    ),
    "reports": ("graphrag/community_reports", "graphrag/findings"),
    "simulation": (
        "gor/simulated_queries",
        "gor/historical_responses",
        "generated_questions",
    ),
}
_WORK_OF = {asset: work for work, assets in _WORK.items() for asset in assets}


def work_of(asset: str) -> str:
    """Return the kind of work of an asset or step; by default "answers"."""
    return _WORK_OF.get(asset, "answers")
