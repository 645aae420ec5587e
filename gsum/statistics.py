"""Statistics of methods that answered the same questions: intervals, paired tests, marks.

The leaderboard, the HTML report and the benchmarks use these functions:

>>> import numpy as np
>>> from gsum.statistics import compare, marks
>>> scores = np.array([[0.5, 0.1], [0.6, 0.3], [0.4, 0.2], [0.7, 0.2], [0.6, 0.1], [0.5, 0.4]])
>>> marks(scores)
['best', 'worse']
>>> compare(scores[:, 0], scores[:, 1]).p_value
0.03125

Tests are sign-flip permutation tests: if two methods are equally good, the sign of each question's
difference is a coin toss (Fisher 1935; Good 2005, section 3.2). They are exact for any number of
questions: n questions with equal signs have p = 2^(1 - n), so that with fewer than six nothing is
significant at 5%.
"""

from gsum_assets.statistics.comparisons import (
    BEST,
    SIGNIFICANT,
    TIED,
    WORSE,
    Comparison,
    Pairwise,
    can_differ,
    compare,
    holm,
    marks,
    pairwise,
)
from gsum_assets.statistics.intervals import LEVEL, N_RESAMPLES, intervals, wilson

__all__ = [
    "BEST",
    "LEVEL",
    "N_RESAMPLES",
    "SIGNIFICANT",
    "TIED",
    "WORSE",
    "Comparison",
    "Pairwise",
    "can_differ",
    "compare",
    "holm",
    "intervals",
    "marks",
    "pairwise",
    "wilson",
]
