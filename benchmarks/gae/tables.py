"""Every table of `gae` by name."""

from collections.abc import Callable

from benchmarks import Measurement
from benchmarks.gae import refinement, retrieval, training

TABLES: dict[str, Callable[[], Measurement]] = {
    "training": training.measure,
    "stories": retrieval.stories,
    "meetings": retrieval.meetings,
    "refinement": refinement.measure,
}
