"""Checks of answers, of verdicts on them, and of the judge that gave these."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from gsum_assets.evaluation.judges.bias import position_bias
from gsum_assets.evaluation.quotations import Speakers, Verdict
from gsum_assets.pipeline.result import SHOWN, Check, CheckInputs, Finding, count, found
from gsum_resources.store.arrow import pc
from gsum_resources.text.speech import names_speaker


def every_question_answered(queries: pa.Table, summaries: pa.Table, corpus: str) -> Finding:
    """Check that each question has an answer."""
    answered = pc.is_in(queries["query_id"], value_set=summaries["query_id"].combine_chunks())
    open_ = queries.select(["query_id", "text"]).filter(pc.invert(answered))
    checked = count(queries.num_rows, "question")
    return found(checked, open_, f"have no answer; `gsum run {corpus}` answers them")


def speakers_are_right(summaries: pa.Table, documents: Callable[[], pa.Table]) -> Finding:
    """Check that no sentence of an answer is shown under the name of a speaker who did not say it.

    A sentence that a model has put in its own words is not judged. `documents` returns the `text`
    of each document, and is called if an answer names speakers.
    """
    answers = [row for row in summaries.to_pylist() if names_speaker(row["text"])]
    speakers = Speakers(documents()["text"].to_pylist() if answers else [])
    n_attributed, wrong = 0, []
    for row in answers:
        attributed = [sentence for sentence in speakers.shown(row["text"]) if sentence.names]
        n_attributed += len(attributed)
        for sentence in attributed:
            if speakers.verdict(sentence) == Verdict.WRONG:
                shown = {"speaker": sentence.names[-1], "sentence": sentence.words}
                wrong.append({"query_id": row["query_id"], **shown})
    checked = count(
        n_attributed, "sentence under a speaker's name", "sentences under speakers' names"
    )
    return found(checked, pa.Table.from_pylist(wrong), "are said by others in the documents")


def answer_checks(
    supported_questions: Callable[[str, pa.Table], pa.Table] | None,
) -> Sequence[Check]:
    """Return the checks of a family's answers.

    `supported_questions` selects those that a method of it can answer; None: all.
    """

    def all_answered(inputs: CheckInputs) -> Finding:
        queries = inputs.rows("queries")
        if supported_questions is not None:
            queries = supported_questions(inputs.method, queries)
        return every_question_answered(queries, inputs.rows(), inputs.corpus)

    return (
        Check(
            "every_question_answered",
            "Each question of `queries` has an answer.",
            all_answered,
            warns=True,
        ),
        Check(
            "speakers_are_right",
            "No sentence is quoted under the name of a speaker who did not say it.",
            lambda inputs: speakers_are_right(
                inputs.rows(), lambda: inputs.rows("documents", ["text"])
            ),
            warns=True,
        ),
    )


def citations_support(sources: pa.Table) -> Finding:
    """Check that each passage that a model cites by its number supports the sentence."""
    cited = sources.filter(pc.is_valid(sources["cited"]))
    wrong = cited.filter(pc.equal(cited["kind"], "unsupported"))
    return found(
        count(cited.num_rows, "cited passage"),
        wrong.select(["query_id", "sentence", "text", "cited"]),
        "do not support the sentence that cites them",
    )


CITATIONS_SUPPORT = Check(
    "citations_support",
    "Each passage that a language model cites by its number supports the sentence.",
    lambda inputs: citations_support(inputs.rows()),
    warns=True,
)


def no_position_bias(judgements: pa.Table) -> Finding:
    """Check that the answer shown first won about half of the decided verdicts.

    Fails if the 95% interval of its share excludes one half: both orders are judged, so that the
    win rates stay fair, but a judge with position bias adds noise.
    """
    bias = position_bias(judgements)
    checked = count(bias.num_rows, "criterion", "criteria")
    biased = [
        {name: row[name] for name in ("criterion", "first_won", "low", "high", "disagreement")}
        for row in bias.to_pylist()
        if row["low"] is not None and not row["low"] <= 0.5 <= row["high"]
    ]
    if not biased:
        return Finding(checked)
    worst = max(biased, key=lambda row: abs(row["first_won"] - 0.5))
    problem = (
        f"of {checked}, {len(biased)} depend on which answer is shown first; by "
        f"'{worst['criterion']}' the first won {worst['first_won']:.0%} of the decided verdicts; "
        "do not rely on win rates near one half, raise [judges] repeats, or choose another judge"
    )
    return Finding(checked, problem, len(biased), biased[:SHOWN])


NO_POSITION_BIAS = Check(
    "no_position_bias",
    "The judge does not prefer an answer because of its position.",
    lambda inputs: no_position_bias(inputs.rows()),
    warns=True,
)
