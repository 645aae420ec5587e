"""Print every table of LightPAL as it is measured.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.lightpal [TABLE ...]

About ten minutes on two cores once vectors are kept, and twenty more before.
"""

from benchmarks.lightpal.tables import TABLES
from benchmarks.results import main_of

if __name__ == "__main__":
    main_of("lightpal", __doc__, TABLES)
