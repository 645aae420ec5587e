"""Contexts of answers: reports of a level, all chunks, or the nearest ones (3.3)."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.graphrag.index_tables import Index
from gsum_assets.graphrag.settings import AnswerSettings
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts


def all_reports(index: Index, level: int | None, seed: int, otherwise: Choose) -> Choose:
    """Return the choice of all reports of a level, or of all, in the scope, shuffled (paper, 2.6).

    Parameters
    ----------
    otherwise : see `reports_or`.
    """
    reports_of: dict[str | None, list[Passage]] = {}

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        if scope not in reports_of:
            seen = index.reports(level, scope)
            reports_of[scope] = [
                Passage(report.community_id, "report", report.text, report.rating, scope)
                for report in sorted(seen, key=lambda report: _draw(seed, report.community_id))
            ]
        return reports_of[scope]

    return reports_or(index, choose, otherwise)


def reports_or(index: Index, choose: Choose, otherwise: Choose) -> Choose:
    """Return a choice of reports, and `otherwise` where they cannot have been chosen.

    That is for a document that no report cites, and for a corpus without communities. Where all
    reports failed, `otherwise` might read the whole corpus at the model's price.
    """

    def chosen(query: dict) -> Sequence[Passage]:
        is_covered = query["document_id"] is None and index.communities.num_rows > 0
        reports = choose(query)
        return reports if reports or is_covered else otherwise(query)

    return chosen


def all_chunks(chunks: pa.Table, seed: int) -> Choose:
    """Return the choice of all chunks of the scope, shuffled: text summarization (3.3, TS)."""
    shuffled = sorted(chunks.to_pylist(), key=lambda row: _draw(seed, row["chunk_id"]))

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        return [chunk_passage(row) for row in shuffled if scope in (None, row["document_id"])]

    return choose


def nearest_chunks(
    rankings: pa.Table,
    chunks: pa.Table,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> Choose:
    """Return the choice of the best chunks up to the prompt's length: semantic search (3.3, SS)."""
    best = best_chunks(rankings, chunks)
    sizes = lengths(chunks["text"].to_pylist(), count_tokens)

    def choose(query: dict) -> Sequence[Passage]:
        room = answer_room(query, settings.prompt_tokens, max_words, count_tokens)
        return list(within(best.get(query["query_id"], ()), sizes, room.tokens, room.mark))

    return choose


def best_chunks(rankings: pa.Table, chunks: pa.Table) -> Mapping[str, Sequence[Passage]]:
    """Return the ranked chunks of each question, best first."""
    is_ranked = pc.is_in(chunks["chunk_id"], value_set=pc.unique(rankings["item_id"]))
    chunk_of = {row["chunk_id"]: row for row in chunks.filter(is_ranked).to_pylist()}
    passages_of: dict[str, list[Passage]] = {}
    for row in rankings.sort_by("rank").to_pylist():
        if row["level"] == "node":
            passage = chunk_passage(chunk_of[row["item_id"]], row["score"])
            passages_of.setdefault(row["query_id"], []).append(passage)
    return passages_of


def within(
    passages: Sequence[Passage], sizes: Mapping[str, int], tokens: int, mark: int
) -> Iterator[Passage]:
    """Yield the first passages that fit together."""
    for passage in passages:
        tokens -= sizes[passage.text] + mark
        if tokens < 0:
            return
        yield passage


def chunk_passage(row: dict, score: float = 0.0) -> Passage:
    """Return a row of `chunks` as a passage."""
    return Passage(
        row["chunk_id"], "chunk", row["text"], score, row["document_id"], row["position"]
    )


def _draw(seed: int, item_id: str) -> str:
    """Return a random sort key that does not depend on other items."""
    return hash_texts([str(seed), item_id])
