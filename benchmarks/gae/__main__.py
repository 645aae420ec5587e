"""Print every table of `gae` as it is measured.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.gae [TABLE ...]

About half an hour on two cores once vectors are kept, and twenty minutes more before.
"""

from benchmarks.gae.tables import TABLES
from benchmarks.results import main_of

if __name__ == "__main__":
    main_of("gae", __doc__, TABLES)
