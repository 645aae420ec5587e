"""Selection of the reports that matter to a question, from all levels of the hierarchy.

The stored embeddings of reports decide, and no request is made; Microsoft's package, which calls
this dynamic community selection, has a language model rate one report after another from the root
downwards. Following the embeddings from the root downwards answered no better (docs/graphrag.md).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.graphrag.contexts import reports_or, within
from gsum_assets.graphrag.index_tables import Index, Seen
from gsum_assets.graphrag.rank import nearest
from gsum_assets.graphrag.settings import AnswerSettings


@dataclass(frozen=True)
class _Scope:
    """Reports of a scope by community, their vectors `(n_reports, dim)`, and lengths of texts."""

    reports: Mapping[str, Seen]
    vectors: np.ndarray
    sizes: Mapping[str, int]


def relevant_reports(
    index: Index,
    vectors: Mapping[str, np.ndarray],
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
    otherwise: Choose,
) -> Choose:
    """Return the choice of the reports most similar to a question, up to the prompt's length.

    Parameters
    ----------
    vectors : unit vector of each question, `(dim,)`.
    otherwise : see `reports_or`.
    """
    scopes: dict[str | None, _Scope] = {}

    def scope_of(document_id: str | None) -> _Scope:
        if document_id not in scopes:
            reports = {report.community_id: report for report in index.reports(None, document_id)}
            of_reports = index.vectors("report", list(reports)) if reports else np.empty((0, 0))
            sizes = lengths((report.text for report in reports.values()), count_tokens)
            scopes[document_id] = _Scope(reports, of_reports, sizes)
        return scopes[document_id]

    def choose(query: dict) -> Sequence[Passage]:
        scope = scope_of(query["document_id"])
        if not scope.reports:
            return []
        ids = list(scope.reports)
        ordered = nearest(vectors[query["query_id"]], scope.vectors, ids, len(ids))
        cosines = {ids[i]: cosine for i, cosine in ordered}
        passages = [
            Passage(i, "report", scope.reports[i].text, cosines[i], query["document_id"])
            for i in disjoint(cosines, index.parents)
        ]
        room = answer_room(query, settings.prompt_tokens, max_words, count_tokens)
        fitting = within(passages, scope.sizes, room.tokens, room.mark)
        return list(fitting) or passages[:1]  # one that is too long is cut where it is mapped

    return reports_or(index, choose, otherwise)


def disjoint(community_ids: Iterable[str], parents: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the communities of which no part and no larger community came before.

    Parameters
    ----------
    parents : parent of each community; None: it has none.
    """
    chosen: set[str] = set()
    above_chosen: set[str] = set()
    for community_id in community_ids:
        above = list(_ancestors(community_id, parents))
        if community_id not in above_chosen and chosen.isdisjoint(above):
            chosen.add(community_id)
            above_chosen.update(above)
            yield community_id


def _ancestors(community_id: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    while (parent := parents[community_id]) is not None:
        yield parent
        community_id = parent
