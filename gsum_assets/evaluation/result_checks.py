"""Checks of answers."""

from collections.abc import Callable

import pyarrow as pa

from gsum_assets.evaluation.attribution import Speakers, Verdict
from gsum_assets.pipeline.finding import Finding, count, found
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
            n_attributed += bool(sentence.labels)
            if speakers.verdict(sentence) == Verdict.WRONG:
                shown = {"speaker": sentence.labels[-1], "sentence": sentence.text}
                wrong.append({"query_id": row["query_id"], **shown})
    columns = {n: [row[n] for row in wrong] for n in ("query_id", "speaker", "sentence")}
    checked = count(
        n_attributed, "sentence under a speaker's name", "sentences under speakers' names"
    )
    return found(checked, pa.table(columns), "are said by others in the documents")
