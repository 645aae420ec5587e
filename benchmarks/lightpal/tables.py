"""Every table of LightPAL by name."""

from collections.abc import Callable, Iterable

from benchmarks import Measurement
from benchmarks.lightpal import index, latency, retrieval

TABLES: dict[str, Callable[[], Measurement | Iterable[Measurement]]] = {
    "latency": latency.measure,
    "index": index.measure,
    "entries": retrieval.entries,
    "evidence": retrieval.evidence,
    "stories": retrieval.stories,
    "masked": retrieval.stories_without_titles,
    "meetings": retrieval.meetings,
}
