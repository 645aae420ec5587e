"""Every table of LightPAL by name."""

from collections.abc import Callable

from benchmarks.lightpal import index, latency, retrieval
from benchmarks.results import Measured

TABLES: dict[str, Callable[[], Measured]] = {
    "latency": latency.measure,
    "index": index.measure,
    "entries": retrieval.entries,
    "evidence": retrieval.evidence,
    "stories": retrieval.stories,
    "masked": retrieval.stories_without_titles,
    "meetings": retrieval.meetings,
}
