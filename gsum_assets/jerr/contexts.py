"""Contexts before the look-up: nodes and synopses, or gists (3.4)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import cut_to_tokens, lengths
from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.jerr.rank import chunks_by_nodes, spans_of_passages
from gsum_assets.jerr.settings import AnswerSettings
from gsum_resources.store.arrow import mapping, pc, rows_by
from gsum_resources.text.sentences import join_texts

_MOST_FACTS = 8  # shown of a node
_NODE_TOKENS = 200  # longest text of a node, word pieces

ChooseShort = Callable[[dict, Iterable[str], Sequence[Passage]], Sequence[Passage]]
"""Function from a row of `queries`, ids of texts that come first, and nodes, to passages."""


def short_texts(rows: pa.Table, key: str, kind: str) -> list[Passage]:
    """Return rows of `jerr.synopses` or `jerr.pages` that have a text as passages of a kind."""
    return [
        Passage(row[key], kind, row[kind], 0, row["document_id"], row["position"])
        for row in rows.to_pylist()
        if row[kind]
    ]


def short_forms(
    texts: Iterable[Passage], settings: AnswerSettings, longest: int, max_words: int
) -> ChooseShort:
    """Return the choice of synopses or gists, as many as leave room for texts read again.

    Nodes come first, then the texts of the ids that come first, then others in reading order. A
    text read again has at most `longest` word pieces.
    """
    reserved = min(settings.n_reread * longest, settings.prompt_tokens // 2)
    within: dict[str | None, dict[str, Passage]] = defaultdict(dict)  # None: all documents
    for passage in sorted(texts, key=lambda passage: (passage.document_id, passage.position)):
        for document_id in (None, passage.document_id):
            within[document_id][passage.node_id] = passage
    sizes: dict[str, int] = {}

    def choose(query: dict, first: Iterable[str], nodes: Sequence[Passage]) -> list[Passage]:
        in_scope = within[query["document_id"]]
        preferred = [in_scope[text_id] for text_id in first if text_id in in_scope]
        passages = list(dict.fromkeys([*nodes, *preferred, *in_scope.values()]))
        new = (passage.text for passage in passages if passage.text not in sizes)
        sizes.update(lengths(new, n_word_pieces))
        room = answer_room(query, settings.prompt_tokens, max_words, n_word_pieces)
        left = room.tokens - reserved
        for n, passage in enumerate(passages):
            left -= sizes[passage.text] + room.mark
            if left < 0:
                return passages[:n]
        return passages

    return choose


def graph_contexts(
    searches: pa.Table, nodes: pa.Table, edges: pa.Table, facts: pa.Table, short: ChooseShort
) -> Choose:
    """Return the choice of the best nodes with their relations and facts, and of synopses.

    The synopses of the line chunks that nodes lead to come first.
    """
    chosen = rows_by(searches.filter(searches["is_chosen"]).sort_by("place"), "query_id")
    order = chunks_by_nodes(searches)
    name_of, named_by = mapping(nodes, "node_id", "name"), mapping(nodes, "node_id", "facts")
    edges_of: dict[str, list[dict]] = defaultdict(list)
    for row in edges.to_pylist():
        edges_of[row["source_id"]].append(row)
        edges_of[row["target_id"]].append(row)
    ordered = facts.sort_by([("chunk_id", "ascending"), ("position", "ascending")])
    facts_of = rows_by(ordered.select(["chunk_id", "statement"]), "chunk_id")

    def described(visited: dict, scope: str | None) -> Passage:
        """Return a node as a passage with its relations and facts within the scope."""
        node_id, naming = visited["node_id"], set(named_by[visited["node_id"]])
        relations = "; ".join(
            f"{name_of[e['source_id']]} – {e['relation']} – {name_of[e['target_id']]}"
            for e in edges_of[node_id]
            if scope in (None, *e["document_ids"])
        )
        near = (row["statement"] for c in visited["chunk_ids"] for row in facts_of[c])
        statements = dict.fromkeys(fact for fact in near if fact in naming)
        heading = f"{visited['name']} ({relations})" if relations else visited["name"]
        text = f"{heading}:\n{join_texts(list(statements)[:_MOST_FACTS])}".strip()
        text = cut_to_tokens(text, _NODE_TOKENS, n_word_pieces)
        return Passage(node_id, "node", text, visited["score"])

    def choose(query: dict) -> Sequence[Passage]:
        of_nodes = [described(row, query["document_id"]) for row in chosen[query["query_id"]]]
        return short(query, order.get(query["query_id"], ()), of_nodes)

    return choose


def short_contexts(
    spans: pa.Table, chunks: pa.Table, rankings: pa.Table, short: ChooseShort
) -> Choose:
    """Return the choice of short texts, in the order in which `rankings` lead to their spans."""
    span_of = spans_of_passages(chunks, spans)
    order: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rankings.filter(pc.equal(rankings["level"], "node")).sort_by("rank").to_pylist():
        order[row["query_id"]][span_of[row["item_id"]]] = None
    return lambda query: short(query, order[query["query_id"]], ())
