"""Every table of `jerr`, as it is measured.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.jerr [TABLE ...]

Some ten minutes on two cores, most of them for the synopses of SQuALITY dev, which are kept.
"""

from collections.abc import Callable, Sequence

from benchmarks import Measurement
from benchmarks.jerr import near_duplicates, recall, tree_search
from benchmarks.results import main_of

TABLES: dict[str, Callable[[], Sequence[Measurement]]] = {
    "near_duplicates": near_duplicates.measure,
    "tree_search": tree_search.measure,
    "recall": recall.measure,
}

if __name__ == "__main__":
    main_of("jerr", __doc__, TABLES)
