"""Scores of what answers state: assertions that they meet, and their claims."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.assertions import assertions_met
from gsum_assets.evaluation.claims import claim_metrics, claims_of, stated
from gsum_assets.evaluation.support import Support


def statement_rows(
    queries: pa.Table,
    summaries: pa.Table,
    assertions: Mapping[str, Sequence[str]],
    support: Support,
    with_claims: bool,
) -> Iterator[tuple[str, str, float]]:
    """Yield query id, metric and value for each sample of each answer.

    A question without an answer has the value 0 in `assertions_met` and no claim.

    Parameters
    ----------
    assertions : by query id.
    support : also embeds the sentences of answers.
    with_claims : whether claims are counted.
    """
    if not (assertions or with_claims):
        return
    answers: dict[str, list[str]] = defaultdict(list)
    for row in summaries.select(["query_id", "text"]).to_pylist():
        answers[row["query_id"]].append(row["text"])
    questions = {row["query_id"]: row["text"] for row in queries.to_pylist()}
    given = [(i, text) for i in questions for text in answers.get(i, [""])]
    support.embed_pairs((a, [text]) for i, text in given for a in assertions.get(i, ()))
    if with_claims:
        support.embed([sentence for _, text in given for sentence in stated(text)])
    for query_id, answer in given:
        if query_id in assertions:
            of_question = assertions[query_id], answer, support, questions[query_id]
            yield query_id, "assertions_met", assertions_met(*of_question)
        if with_claims:
            for metric, value in claim_metrics(claims_of(answer, support.embed), answer):
                yield query_id, metric, value
