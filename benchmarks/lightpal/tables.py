"""Every table of LightPAL by name."""

from collections.abc import Callable

from benchmarks import Measurement
from benchmarks.lightpal import index, latency, retrieval

TABLES: dict[str, Callable[[], Measurement]] = {
    "latency": latency.measure,
    "index": index.measure,
    "masked": retrieval.stories_without_titles,
    "stories": retrieval.stories,
    "meetings": retrieval.meetings,
}
