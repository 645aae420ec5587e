"""Checks of answers."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from gsum_assets.evaluation.quotations import Speakers, Verdict
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import Finding, count, found
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
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

    A sentence that a model has put in its own words is not judged.

    Parameters
    ----------
    documents : returns the `text` of each document; called if an answer names speakers.
    """
    answers = [row for row in summaries.to_pylist() if names_speaker(row["text"])]
    speakers = Speakers(documents()["text"].to_pylist() if answers else [])
    n_attributed, wrong = 0, []
    for row in answers:
        for sentence in speakers.shown(row["text"]):
            n_attributed += bool(sentence.names)
            if speakers.verdict(sentence) == Verdict.WRONG:
                shown = {"speaker": sentence.names[-1], "sentence": sentence.words}
                wrong.append({"query_id": row["query_id"], **shown})
    columns = {n: [row[n] for row in wrong] for n in ("query_id", "speaker", "sentence")}
    checked = count(
        n_attributed, "sentence under a speaker's name", "sentences under speakers' names"
    )
    return found(checked, pa.table(columns), "are said by others in the documents")


def answer_checks(
    supported_questions: Callable[[str, pa.Table], pa.Table] | None,
) -> Sequence[Check]:
    """Return the checks of a family's answers.

    Parameters
    ----------
    supported_questions : selects the questions that a method of it can answer; None: all.
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
        _SPEAKERS_ARE_RIGHT,
        _MODELS_NAME_SPEAKERS,
    )


def _speakers(inputs: CheckInputs, selected: bool) -> Finding:
    """Check the names of speakers in answers by `extractive`, or in those by other models."""
    rows = inputs.rows()
    is_selected = pc.equal(rows["model"], EXTRACTIVE)
    return speakers_are_right(
        rows.filter(is_selected if selected else pc.invert(is_selected)),
        lambda: inputs.rows("documents", ["text"]),
    )


_SPEAKERS_ARE_RIGHT = Check(
    "speakers_are_right",
    "Each sentence that the embedded model selected stands under the name of its speaker.",
    lambda inputs: _speakers(inputs, selected=True),
)
_MODELS_NAME_SPEAKERS = Check(
    "models_name_speakers",
    "A language model quotes no sentence under the name of a speaker who did not say it.",
    lambda inputs: _speakers(inputs, selected=False),
    warns=True,
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
