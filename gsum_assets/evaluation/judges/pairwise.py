"""Pairwise comparison of answers in both orders (GraphRAG, arXiv 2404.16130, section 3)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product

from gsum_assets.evaluation.judges.cases import VALUES, Case, Judged
from gsum_assets.evaluation.judges.material import Question
from gsum_assets.evaluation.judges.prompts import PROMPTS, criteria_text
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import CRITERIA, Verdict, pairwise_verdict
from gsum_assets.pipeline.prompts import Prompts

_MAX_WORDS = 25  # per reason


def comparisons(
    questions: Sequence[Question], settings: JudgesSettings, prompts: Prompts = PROMPTS
) -> Iterator[Case]:
    """Yield each pair of methods on each question that both answered, in both orders."""
    calls = (
        [(criterion,) for criterion in CRITERIA] if settings.one_criterion_per_call else [CRITERIA]
    )
    for question in questions:
        pairs = combinations(sorted(question.answers), 2)
        for pair, criteria in product(pairs, calls):
            # reference answers are shown for relevance alone: others are judged without them
            references = question.references if criteria == ("relevance",) else ()
            text = criteria_text(criteria, by_references=bool(references))
            for first, repeat in product((0, 1), range(1, settings.repeats + 1)):
                shown = [question.answers[pair[first]], question.answers[pair[1 - first]]]
                alone = criteria if criteria != CRITERIA else ()
                yield Case(
                    question,
                    "pairwise",
                    criteria,
                    *pair,
                    first=pair[first],
                    repeat=repeat,
                    instructions=prompts.text("pairwise", criteria=text),
                    schema=pairwise_verdict(criteria),
                    texts={"answer": shown, "reference": references},
                    judged=partial(_preferences, criteria, is_first=first == 0),
                    max_words=_MAX_WORDS * len(criteria),
                    temperature=settings.temperature,
                    drawn_for=(*pair, pair[first], str(repeat), *alone),
                    is_settled=shown[0].split() == shown[1].split(),
                )


def _preferences(criteria: Sequence[str], verdict: Verdict, is_first: bool) -> Iterator[Judged]:
    """Yield whether a method whose answer was shown first, or second, won by each criterion."""
    for criterion in criteria:
        preference = getattr(verdict, criterion)
        result = "tie"
        if preference.winner != "neither":
            result = "win" if (preference.winner == "answer 1") == is_first else "loss"
        yield criterion, result, VALUES[result], preference.reason
