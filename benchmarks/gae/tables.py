"""Every table of `gae` by name."""

from collections.abc import Callable

from benchmarks.gae import refinement, retrieval, training
from benchmarks.results import Measured

TABLES: dict[str, Callable[[], Measured]] = {
    "training": training.measure,
    "stories": retrieval.stories,
    "meetings": retrieval.meetings,
    "refinement": refinement.measure,
}
