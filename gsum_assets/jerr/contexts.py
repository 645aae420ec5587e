"""Contexts before the look-up: nodes and synopses, or gists (3.4)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, cut_to_tokens, lengths
from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.jerr.order import Overlapping, chunks_by_nodes
from gsum_assets.jerr.settings import AnswerSettings
from gsum_resources.store.arrow import pc
from gsum_resources.text.sentences import join_texts

_FACTS = 8  # most facts shown of a node
_NODE_TOKENS = 200  # longest text of a node, word pieces


class Room:
    """Token budget for synopses or gists that leaves room for texts read again.

    Parameters
    ----------
    most_reread : longest text to be read again, word pieces.
    """

    def __init__(
        self, settings: AnswerSettings, most_reread: int, max_words: int, count_tokens: CountTokens
    ) -> None:
        reread = settings.n_reread * most_reread
        self._kept_free = min(reread, settings.prompt_tokens // 2)
        self._settings, self._max_words = settings, max_words
        self._sizes: dict[str, int] = {}
        self.count_tokens = count_tokens

    def fitting(self, query: dict, passages: Iterable[Passage]) -> Iterator[Passage]:
        """Yield the first passages that fit, for a row of `queries`."""
        room = answer_room(query, self._settings.prompt_tokens, self._max_words, self.count_tokens)
        left = room.tokens - self._kept_free
        passages = list(passages)
        texts = (passage.text for passage in passages if passage.text not in self._sizes)
        self._sizes |= lengths(texts, self.count_tokens)
        for passage in passages:
            left -= self._sizes[passage.text] + room.mark
            if left < 0:
                return
            yield passage


class GraphContexts:
    """Choice of the best nodes with their relations and facts, and of synopses, theirs first."""

    def __init__(
        self,
        searches: pa.Table,
        nodes: pa.Table,
        edges: pa.Table,
        synopses: pa.Table,
        facts: pa.Table,
        room: Room,
    ) -> None:
        chosen = searches.filter(searches["is_chosen"]).sort_by("place").to_pylist()
        self._chosen: dict[str, list[dict]] = defaultdict(list)
        for row in chosen:
            self._chosen[row["query_id"]].append(row)
        self._order = chunks_by_nodes(searches)
        self._named = {row["node_id"]: frozenset(row["facts"]) for row in nodes.to_pylist()}
        self._names = dict(zip(*(nodes[n].to_pylist() for n in ("node_id", "name")), strict=True))
        self._edges: dict[str, list[dict]] = defaultdict(list)
        for row in edges.to_pylist():
            self._edges[row["source_id"]].append(row)
            self._edges[row["target_id"]].append(row)
        self._facts: dict[str, list[str]] = defaultdict(list)
        for row in facts.sort_by(
            [("chunk_id", "ascending"), ("position", "ascending")]
        ).to_pylist():
            self._facts[row["chunk_id"]].append(row["statement"])
        self._synopses = _by_document(synopses_of(synopses))
        self._room = room

    def __call__(self, query: dict) -> Sequence[Passage]:
        """Return the passages for a row of `queries`."""
        nodes = [self._node(row, query["document_id"]) for row in self._chosen[query["query_id"]]]
        synopsis_of = self._synopses.get(query["document_id"], {})
        first = [synopsis_of[c] for c in self._order.get(query["query_id"], ()) if c in synopsis_of]
        passages = dict.fromkeys([*nodes, *first, *synopsis_of.values()])
        return list(self._room.fitting(query, passages))

    def _node(self, visited: dict, scope: str | None) -> Passage:
        """Return a node as a passage with its relations and facts within the scope."""
        node_id, named = visited["node_id"], self._named[visited["node_id"]]
        relations = [
            f"{self._names[row['source_id']]} – {row['relation']} – {self._names[row['target_id']]}"
            for row in self._edges.get(node_id, ())
            if scope is None or scope in row["document_ids"]
        ]
        facts = dict.fromkeys(
            fact for c in visited["chunk_ids"] for fact in self._facts[c] if fact in named
        )
        described = f" ({'; '.join(relations)})" if relations else ""
        text = f"{visited['name']}{described}:\n{join_texts(list(facts)[:_FACTS])}".strip()
        text = cut_to_tokens(text, _NODE_TOKENS, self._room.count_tokens)
        return Passage(node_id, "node", text, visited["score"])


def short_contexts(
    texts: Iterable[Passage], spans: pa.Table, chunks: pa.Table, rankings: pa.Table, room: Room
) -> Choose:
    """Return the choice of short texts, in the order in which `rankings` first lead to them.

    Parameters
    ----------
    texts : gists of ReadAgent's pages, or synopses of line chunks.
    spans : `chunk_id`, `document_id`, `start`, `end` of these pages or line chunks.
    """
    span_of = Overlapping(chunks, spans).span_of
    of_documents = _by_document(passage for passage in texts if passage.text)
    order: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rankings.filter(pc.equal(rankings["level"], "node")).sort_by("rank").to_pylist():
        order[row["query_id"]][span_of[row["item_id"]]] = None

    def choose(query: dict) -> Sequence[Passage]:
        passage_of = of_documents.get(query["document_id"], {})
        first = [passage_of[span] for span in order[query["query_id"]] if span in passage_of]
        return list(room.fitting(query, dict.fromkeys([*first, *passage_of.values()])))

    return choose


def synopses_of(rows: pa.Table) -> Iterator[Passage]:
    """Yield the rows of `jerr.synopses` as passages."""
    for row in rows.to_pylist():
        where = row["document_id"], row["position"]
        yield Passage(row["chunk_id"], "synopsis", row["synopsis"], 0, *where)


def gists_of(pages: pa.Table) -> Iterator[Passage]:
    """Yield the gists of the rows of `jerr.pages` as passages."""
    for row in pages.to_pylist():
        yield Passage(row["page_id"], "gist", row["gist"], 0, row["document_id"], row["position"])


def _by_document(passages: Iterable[Passage]) -> Mapping[str | None, Mapping[str, Passage]]:
    """Return passages by id in reading order, for each document and, with key None, for all."""
    by_document: dict[str | None, dict[str, Passage]] = {None: {}}
    for passage in sorted(passages, key=lambda passage: (passage.document_id, passage.position)):
        by_document[None][passage.node_id] = passage
        by_document.setdefault(passage.document_id, {})[passage.node_id] = passage
    return by_document
