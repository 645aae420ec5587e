"""Checks of line chunks, pages, and their synopses, elements and relations."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.corpus import document_checks as pieces
from gsum_assets.jerr import graph_checks
from gsum_assets.jerr.graph_checks import SIZE, of_each_size, sized
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count, found, together
from gsum_assets.pipeline.references import are_among, lacking, unnested
from gsum_resources.store.arrow import pc

_CHUNK = [SIZE, "chunk_id"]
_MOST_WORDS = 3  # of a relation (A.4)


def line_chunks_cover(line_chunks: pa.Table, documents: pa.Table) -> Finding:
    """Check that line chunks of each size are slices of their documents that cover all text.

    Parameters
    ----------
    line_chunks : `max_tokens`, `document_id`, `start`, `end` and `text`.
    documents : `document_id` and `text`, of the same buckets.
    """
    wrong, n_wrong = [], 0
    for (rows,) in of_each_size(line_chunks):
        finding = pieces.cover_documents(rows, documents)
        size = rows[SIZE][0].as_py() if rows.num_rows else None
        wrong += [{SIZE: size, **offender} for offender in finding.offenders]
        n_wrong += finding.n_wrong
    return _fit(line_chunks, documents, "line chunk", wrong, n_wrong)


def pages_cover(pages: pa.Table, documents: pa.Table) -> Finding:
    """Check that pages are slices of their documents that cover all text.

    Parameters
    ----------
    pages : `document_id`, `start`, `end` and `text`.
    documents : `document_id` and `text`.
    """
    paged = documents if pages.num_rows else documents.slice(0, 0)  # only ReadAgent has pages
    finding = pieces.cover_documents(pages, paged)
    return _fit(pages, paged, "page", finding.offenders, finding.n_wrong)


def _fit(
    rows: pa.Table,
    documents: pa.Table,
    noun: str,
    wrong: Sequence[Mapping[str, object]],
    n_wrong: int,
) -> Finding:
    """Return the result of `cover_documents` as a finding about line chunks or pages."""
    examined = f"{count(rows.num_rows, noun)} of {count(documents.num_rows, 'document')}"
    if not n_wrong:
        return Finding(examined)
    first = wrong[0]
    size = f"{first[SIZE]} word pieces, " if first.get(SIZE) else ""
    problem = (
        f"{examined}: {count(n_wrong, 'place')} where {noun}s and documents do not fit (first: "
        f"{size}document '{first['document_id']}', character {first['character']}: "
        f"{first['what']}); materialize jerr/{noun.replace(' ', '_')}s again"
    )
    return Finding(examined, problem, n_wrong, wrong[:SHOWN])


def every_chunk_has_one(synopses: pa.Table, line_chunks: pa.Table, corpus: str) -> Finding:
    """Check that each line chunk has a synopsis that is not empty.

    Parameters
    ----------
    synopses : `max_tokens`, `chunk_id` and `synopsis`, of the same buckets.
    line_chunks : `max_tokens`, `chunk_id`, `document_id` and `position`.
    """
    return found(
        count(line_chunks.num_rows, "line chunk"),
        lacking(sized(line_chunks), _CHUNK, sized(_nonempty(synopses))),
        "have no synopsis, since the model gave no valid reply, so answers lack their content; "
        f"`gsum run {corpus}` requests them again; if that fails, choose another model in "
        "gsum.toml, [llm]",
    )


def every_synopsis_has_some(
    elements: pa.Table, synopses: pa.Table, line_chunks: pa.Table, corpus: str
) -> Finding:
    """Check that each synopsis has at least one core element, and each element a line chunk.

    Parameters
    ----------
    elements : `max_tokens`, `chunk_id`, `document_id` and `element`.
    synopses : `max_tokens`, `chunk_id`, `document_id`, `position` and `synopsis`.
    line_chunks : `max_tokens` and `chunk_id`; all of the same buckets.
    """
    nonempty, named = sized(_nonempty(synopses)), sized(elements)
    return together(
        [
            found(
                count(nonempty.num_rows, "synopsis", "synopses"),
                lacking(nonempty.drop_columns("synopsis"), _CHUNK, named),
                "have no element, so that searches cannot find them: the model named none, or gave "
                f"no valid reply; `gsum run {corpus}` requests them again; if that "
                "fails, choose another model in gsum.toml, [llm]",
            ),
            found(
                count(named.num_rows, "element"),
                lacking(named, _CHUNK, sized(line_chunks)),
                "belong to no line chunk; materialize jerr/elements again",
            ),
        ]
    )


def _nonempty(synopses: pa.Table) -> pa.Table:
    """Return the synopses that are not empty."""
    return synopses.filter(pc.not_equal(pc.utf8_trim_whitespace(synopses["synopsis"]), ""))


def join_elements(relations: pa.Table, elements: pa.Table) -> Finding:
    """Check that the ends of a relation are elements of its line chunk, and its name is short.

    Parameters
    ----------
    relations : all columns except `model`.
    elements : `max_tokens`, `chunk_id` and `element_key`, of the same buckets.
    """
    shown, known = sized(relations), sized(elements)
    is_element = [
        are_among(shown, [*_CHUNK, end], known, [*_CHUNK, "element_key"])
        for end in ("source_key", "target_key")
    ]
    n_words = pa.array([len(words.split()) for words in shown["relation"].to_pylist()], pa.int32())
    is_short = pc.and_(pc.greater_equal(n_words, 1), pc.less_equal(n_words, _MOST_WORDS))
    examined = count(shown.num_rows, "relation")
    remedy = "materialize jerr/relations again"
    return together(
        [
            found(
                examined,
                shown.filter(pc.invert(pc.and_(*is_element))),
                f"have an end that is not an element of their line chunk; {remedy}",
            ),
            found(
                examined,
                shown.filter(pc.invert(is_short)),
                f"are not named in one to {_MOST_WORDS} words; {remedy}",
            ),
        ]
    )


def name_what_was_shown(look_ups: pa.Table, contexts: pa.Table) -> Finding:
    """Check that the passages to read again are in the question's context.

    Parameters
    ----------
    look_ups : `query_id` and `chunk_ids`.
    contexts : `query_id` and `node_id` of the same method.
    """
    named = unnested(look_ups, ["query_id"], "chunk_ids", "chunk_id")
    return found(
        count(named.num_rows, "passage to read again", "passages to read again"),
        lacking(named, ["query_id", "chunk_id"], contexts, ["query_id", "node_id"]),
        "were not shown with their question; materialize jerr/look_ups again",
    )


_LINE_CHUNK = ["max_tokens", "chunk_id"]
_EDGE = ["max_tokens", "source_id", "target_id"]
_SLICE = ["document_id", "start", "end", "text"]

CHECKS: Mapping[str, Sequence[Check]] = {
    "jerr.line_chunks": [
        Check(
            "cover_documents",
            "Line chunks of each size are exact slices of their documents, and contain every "
            "character that is not blank.",
            lambda partition: line_chunks_cover(
                partition.rows(columns=["max_tokens", *_SLICE]),
                partition.rows("documents", ["document_id", "text"]),
            ),
        )
    ],
    "jerr.synopses": [
        Check(
            "every_chunk_has_one",
            "Each line chunk has a synopsis that is not empty.",
            lambda partition: every_chunk_has_one(
                partition.rows(columns=[*_LINE_CHUNK, "synopsis"]),
                partition.rows("jerr.line_chunks", [*_LINE_CHUNK, "document_id", "position"]),
                partition.corpus,
            ),
            warns=True,
        )
    ],
    "jerr.elements": [
        Check(
            "every_synopsis_has_some",
            "Each synopsis has at least one core element, and each element a line chunk.",
            lambda partition: every_synopsis_has_some(
                partition.rows(columns=[*_LINE_CHUNK, "document_id", "element"]),
                partition.rows(
                    "jerr.synopses", [*_LINE_CHUNK, "document_id", "position", "synopsis"]
                ),
                partition.rows("jerr.line_chunks", _LINE_CHUNK),
                partition.corpus,
            ),
            warns=True,
        )
    ],
    "jerr.relations": [
        Check(
            "join_elements",
            "Both ends are elements of the same line chunk; a relation has one to three words.",
            lambda partition: join_elements(
                partition.rows(
                    columns=[*_LINE_CHUNK, "document_id", "source_key", "target_key", "relation"]
                ),
                partition.rows("jerr.elements", [*_LINE_CHUNK, "element_key"]),
            ),
        )
    ],
    "jerr.nodes": [
        Check(
            "stand_for_elements",
            "Every written form of an element is merged into an existing node; near duplicates "
            "differ by at most 3 bits of 64.",
            lambda partition: graph_checks.lead_to_nodes(
                partition.rows(
                    "jerr.merges", ["max_tokens", "element", "node_id", "rule", "n_bits"]
                ),
                partition.rows(columns=["max_tokens", "node_id"]),
                partition.rows("jerr.elements", ["max_tokens", "element"]),
            ),
        )
    ],
    "jerr.edges": [
        Check(
            "close_no_cycle",
            "Edges join two nodes, follow the topological order, and close no cycle.",
            lambda partition: graph_checks.close_no_cycle(
                partition.rows(columns=_EDGE),
                partition.rows("jerr.nodes", ["max_tokens", "node_id", "place"]),
            ),
        )
    ],
    "jerr.left_out_edges": [
        Check(
            "would_close_cycles",
            "The reported cycle of each consists of itself and edges of the graph.",
            lambda partition: graph_checks.would_close_cycles(
                partition.rows(columns=[*_EDGE, "cycle_ids"]), partition.rows("jerr.edges", _EDGE)
            ),
        )
    ],
    "jerr.pages": [
        Check(
            "cover_documents",
            "Pages are exact slices of their documents, and contain every character that is not "
            "blank.",
            lambda partition: pages_cover(
                partition.rows(columns=_SLICE), partition.rows("documents", ["document_id", "text"])
            ),
        )
    ],
    "jerr.searches": [
        Check(
            "visit_nodes",
            "Visited nodes are in the graph, their places count up from 1, mean rewards are 0 to "
            "1, and the best path follows edges.",
            lambda partition: graph_checks.visit_nodes(
                partition.rows(
                    columns=["query_id", "node_id", "name", "place", "step", "mean_reward"]
                ),
                partition.rows("jerr.nodes", ["max_tokens", "node_id"]),
                partition.rows("jerr.edges", _EDGE),
            ),
        )
    ],
    "jerr.look_ups": [
        Check(
            "name_what_was_shown",
            "Passages to read again are in their question's context.",
            lambda partition: name_what_was_shown(
                partition.rows(columns=["query_id", "chunk_ids"]),
                partition.rows("contexts", ["query_id", "node_id"]),
            ),
        )
    ],
}
