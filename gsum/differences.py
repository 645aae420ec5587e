"""Two methods compared on the questions that both answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gsum.names import unknown
from gsum.statistics import compare as compare_scores

if TYPE_CHECKING:
    import pandas as pd

    from gsum.runs import Result


@dataclass(frozen=True)
class Difference:
    """Paired difference of two methods over the questions that both answered.

    Attributes
    ----------
    first, second : the methods.
    metric : that is compared.
    difference : mean of first - second.
    low, high : its 95% interval.
    p_value : two-sided, of the sign-flip permutation test that the difference is 0.
    n : number of questions.
    by_question : `question`, `first`, `second` and `difference` of each, by `query_id`.
    """

    first: str
    second: str
    metric: str
    difference: float
    low: float
    high: float
    p_value: float
    n: int
    by_question: "pd.DataFrame"

    def __str__(self) -> str:
        questions = "1 question" if self.n == 1 else f"{self.n} questions"
        return (
            f"{self.metric}: {self.first} - {self.second} = {self.difference:+.3f} "
            f"(95% interval {self.low:+.3f} to {self.high:+.3f}), p = {self.p_value:.3f}, "
            f"{questions}"
        )

    __repr__ = __str__


def compare(first: "Result", second: "Result", metric: str = "rouge1") -> Difference:
    """Compare two runs on the questions of the same id that both answered.

    Parameters
    ----------
    first, second : results of `gsum.run` over questions with references.
    metric : a column of `Result.scores`.

    Raises
    ------
    UnknownNameError
        If a result has no such score, as without references.
    ValueError
        If no question is in both.
    TypeError
        If one is no result, such as the name of a method.

    Examples
    --------
    >>> import gsum
    >>> texts = {"a": "The harbour opened in 1890.", "b": "The bridge was never finished."}
    >>> questions = [
    ...     {"text": "When did the harbour open?", "references": ["It opened in 1890."]},
    ...     {"text": "Who finished the bridge?", "references": ["Nobody finished it."]},
    ... ]
    >>> print(gsum.compare(
    ...     gsum.run("bm25", texts, questions), gsum.run("random", texts, questions)
    ... ))
    rouge1: bm25 - random = +0.000 (95% interval +0.000 to +0.000), p = 1.000, 2 questions
    """
    from gsum.runs import Result

    for given in (first, second):
        if not isinstance(given, Result):
            raise TypeError(
                f"gsum.compare takes two results of gsum.run, not {given!r:.60}; methods that a "
                'home has run are compared by names: gsum.open("HOME").compare("bm25", "dense")'
            )
    values = []
    for result in (first, second):
        scores = result._scores(with_bertscore=metric.startswith("bertscore"))
        if metric not in scores:
            if not len(scores.columns):
                raise ValueError(
                    f"the answers of {result.method} have no scores such as '{metric}': give "
                    "questions as dicts or a frame with 'references'"
                )
            raise unknown(f"metric of {result.method}", metric, list(scores.columns))
        values.append(scores[metric].dropna())
    asked = first.answers
    questions = dict(zip(asked["query_id"], asked["question"], strict=True))
    return paired((first.method, second.method), metric, values[0], values[1], questions)


def paired(
    methods: tuple[str, str],
    metric: str,
    first: "pd.Series",
    second: "pd.Series",
    questions: Mapping[str, str],
) -> Difference:
    """Return the difference of two methods over the questions that both have.

    Scores and texts of questions are by `query_id`; without a question in both, `ValueError` is
    raised.
    """
    import pandas as pd

    scores = pd.concat({"first": first, "second": second}, axis=1, join="inner").sort_index()
    if not len(scores):
        raise ValueError(
            f"{methods[0]} and {methods[1]} have no question in common with the metric '{metric}'; "
            "run both on the same questions"
        )
    comparison = compare_scores(scores["first"].tolist(), scores["second"].tolist())
    scores["difference"] = scores["first"] - scores["second"]
    scores.insert(0, "question", [questions.get(name, "") for name in scores.index])
    return Difference(*methods, metric, *comparison, by_question=scores)
