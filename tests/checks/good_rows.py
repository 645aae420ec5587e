"""Rows that keep every invariant, of each family in tables small enough to know the answer.

GraphRAG: chunks a0 and a1 mention Dr Lin and the bay, b0 the bay and the TVA, and names the sea.
JERR: document a has two line chunks of 600 word pieces and one of 2,000, which mention Lin, the bay
and the dam. In the graph of size 600 Lin leads to the bay, that to the dam, and back is left out.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import numbers_of

Rows = Mapping[str, list[tuple]]


class Good(NamedTuple):
    """Columns of some tables, and rows that keep all invariants."""

    columns: Mapping[str, str]
    rows: Rows

    def tables(self, rows: Rows) -> dict[str, pa.Table]:
        """Return rows of these tables as Arrow tables."""
        tables = {}
        for name, columns in self.columns.items():
            names = columns.split()
            schema = pa.schema([TABLES[name].schema.field(column) for column in names])
            dicts = [dict(zip(names, row, strict=True)) for row in rows[name]]
            tables[name] = pa.Table.from_pylist(dicts, schema)
        return tables


CORPUS = Good(
    {
        "source_documents": "document_id",
        "rejected_documents": "document_id",
        "documents": "document_id text",
        "chunks": "chunk_id document_id start end text",
        "chunk_embeddings": "chunk_id embedding",
        "queries": "query_id",
        "query_embeddings": "query_id embedding",
        "leaderboard": "method low mean high",
        "curves": "method low mean high",
        "comparisons": "method low difference high",
        "rankings": "query_id level rank",
        "contexts": "query_id rank node_id node_kind text",
        "answer_sources": "query_id kind document_id chunk_id start_char end_char",
        "scores": "query_id metric value",
    },
    {
        "source_documents": [("a",), ("b",)],
        "rejected_documents": [("b",)],
        "documents": [("a", " one two é漢 ")],
        "chunks": [
            ("c0", "a", 0, 4, " one"),
            ("c1", "a", 3, 8, "e two"),
            ("c2", "a", 9, 11, "é漢"),
        ],
        "chunk_embeddings": [("c0", [1.0, 0.0]), ("c1", [0.6, 0.8]), ("c2", [0.9996, 0.0])],
        "queries": [("q",), ("p",)],
        "query_embeddings": [("q", [1.0, 0.0]), ("p", [0.0, -1.0])],
        "leaderboard": [("m", 0.2, 0.2, 0.3)],
        "curves": [("m", 0.2, 0.3, 0.3)],
        "comparisons": [("m", -0.1, 0.0, 0.1)],
        "rankings": [("q", "node", 2), ("q", "node", 1), ("q", "document", 1), ("p", "node", 1)],
        "contexts": [("q", 1, "c0", "chunk", " one"), ("q", 2, "r", "response", "an answer")],
        "answer_sources": [
            ("q", "quoted", "a", "c0", 1, 4),
            ("q", "none", None, None, None, None),
        ],
        "scores": [("q", "rouge1", 1.0 + 1e-12), ("q", "context_tokens", 400.0)],
    },
)
GOR = Good(
    {
        "chunks": "chunk_id document_id",
        "gor.simulated_queries": "query_id chunk_id",
        "gor.historical_responses": "response_id document_id",
        "gor.record_nodes": "node_id document_id kind position",
        "gor.record_edges": "source_id target_id document_id",
        "gor.node_rankings": "query_id node_id f1",
    },
    {
        "chunks": [("c0", "d"), ("c1", "d"), ("e0", "e")],
        "gor.simulated_queries": [("q", "c0"), ("p", "c1")],
        "gor.historical_responses": [("r1", "d"), ("r2", "d")],
        "gor.record_nodes": [
            *(("c0", "d", "chunk", 0), ("c1", "d", "chunk", 1), ("e0", "e", "chunk", 0)),
            *(("r1", "d", "response", 1), ("r2", "d", "response", 2)),
        ],
        "gor.record_edges": [("c0", "r1", "d"), ("c1", "r2", "d"), ("r1", "r2", "d")],
        "gor.node_rankings": [
            *(("q", "c0", 1.0), ("q", "c1", 0.5), ("p", "c0", 1.0), ("p", "c1", 1.0)),
        ],
    },
)


def number(passage_id: str) -> int:
    """Return the number by which tables of LightPAL list a passage."""
    return int(numbers_of(pa.array([passage_id]))[0])


def _candidates(*passages: str) -> list[list[int]]:
    return [[number(other) for other in passages if other != own] for own in passages]


_NODES, _DOCUMENTS = ("a0", "a1", "b0"), ("a", "b")
_LISTED = [
    *zip(["node"] * 3, _NODES, _candidates(*_NODES), strict=True),
    *zip(["document"] * 2, _DOCUMENTS, _candidates(*_DOCUMENTS), strict=True),
]
LIGHTPAL = Good(
    {
        "chunks": "chunk_id document_id",
        "lightpal.candidates": "level passage_id passage_number candidates",
        "lightpal.context_scores": "level passage_id scores",
        "lightpal.passage_edges": "graph level scope source_id targets weights",
    },
    {
        "chunks": [("a0", "a"), ("a1", "a"), ("b0", "b")],
        "lightpal.candidates": [(level, own, number(own), near) for level, own, near in _LISTED],
        "lightpal.context_scores": [(level, own, [-1.0] * len(n)) for level, own, n in _LISTED],
        "lightpal.passage_edges": [
            ("walk", "node", "corpus", "a0", [number("b0"), number("a1")], [1.0, 0.5]),
            ("walk", "node", "document", "a0", [number("a1")], [1.0]),
            ("walk", "document", "corpus", "a", [number("b")], [1.0]),
        ],
    },
)
GAE = Good(
    {
        "chunks": "chunk_id document_id position",
        "contexts": "query_id node_id",
        "gae.graph_edges": "kind source_id target_id",
        "gae.embeddings": "chunk_id",
        "gae.clusters": "chunk_id",
        "gae.refined_contexts": "query_id node_id fate tokens_before tokens_after",
    },
    {
        "chunks": [("a0", "a", 0), ("a1", "a", 1), ("a2", "a", 2), ("b0", "b", 0)],
        "contexts": [("q", "a0"), ("q", "b0"), ("p", "a0")],
        "gae.graph_edges": [
            *(("citation", "b0", "a0"), ("neighbour", "a0", "a1"), ("neighbour", "a2", "a1")),
            ("nearest", "a0", "b0"),
        ],
        "gae.embeddings": [("a0",), ("a1",), ("a2",), ("b0",)],
        "gae.clusters": [("a0",), ("a1",), ("a2",), ("b0",)],
        "gae.refined_contexts": [
            *(("q", "a0", "edited", 10, 12), ("q", "b0", "dropped", 10, 0)),
            ("p", "a0", "whole", 10, 10),
        ],
    },
)
EVIDENCE = Good(
    {
        "chunks": "chunk_id",
        "evidence.sentences": "chunk_id position",
        "evidence.probabilities": "query_id chunk_id rank probability",
    },
    {
        "chunks": [("a0",), ("a1",)],
        "evidence.sentences": [("a0", 0), ("a0", 1), ("a1", 0)],
        "evidence.probabilities": [
            *(("q", "a0", 1, 1.0), ("q", "a1", 2, 0.5)),
            *(("p", "a1", 1, 0.5), ("p", "a0", 2, 0.5)),
        ],
    },
)
GRAPHRAG = Good(
    {
        "chunks": "chunk_id",
        "graphrag.entity_mentions": (
            "chunk_id document_id name_key name description is_verbatim model type"
        ),
        "graphrag.relationship_mentions": (
            "chunk_id document_id source_key target_key strength source_type target_type"
        ),
        "graphrag.claims": "chunk_id document_id subject_key status description",
        "graphrag.aliases": "name_key entity_id rule evidence_chunk_ids",
        "graphrag.entities": "entity_id name degree description chunk_ids",
        "graphrag.relationships": "relationship_id source_id target_id weight",
        "graphrag.communities": (
            "community_id level number title size parent_id child_ids entity_ids relationship_ids "
            "is_reported"
        ),
        "graphrag.community_reports": "community_id summary",
        "graphrag.findings": "community_id position summary entity_ids chunk_ids",
        "graphrag.embeddings": "kind item_id embedding",
        "graphrag.key_points": "query_id pack position score",
        "graphrag.reduced_contexts": "query_id sample rank",
    },
    {
        "chunks": [("a0",), ("a1",), ("b0",)],
        "graphrag.entity_mentions": [
            ("a0", "a", "dr lin", "Dr Lin", "A biologist.", True, "m", ""),
            ("a0", "a", "lin", "Lin", "", True, "m", ""),
            ("a0", "a", "bay", "bay", "It is deep.", True, "m", ""),
            ("a1", "a", "lin", "Lin", "She swims.", True, "m", ""),
            ("a1", "a", "bay", "Bay", "", False, "m", ""),
            ("b0", "b", "bay", "bay", "", True, "m", ""),
            ("b0", "b", "tva", "TVA", "", False, "m", ""),
            ("b0", "b", "sea", "sea", "It is far.", True, "m", ""),
        ],
        "graphrag.relationship_mentions": [
            ("a0", "a", "dr lin", "bay", 10, "", ""),
            ("a0", "a", "dr lin", "lin", 1, "", ""),  # two names of one
            ("a1", "a", "bay", "lin", 5, "", ""),
            ("b0", "b", "bay", "tva", 1, "", ""),
        ],
        "graphrag.claims": [
            ("a0", "a", "lin", "true", "Lin swims."),
            ("a1", "a", "lin", "suspected", "Lin dives."),
            ("b0", "b", "tva", "false", "The TVA is rich."),
        ],
        "graphrag.aliases": [
            ("bay", "BAY", "own", []),
            ("dr lin", "LIN", "own", []),
            ("lin", "LIN", "title", ["a0"]),
            ("sea", "SEA", "own", []),
            ("tva", "TVA", "own", []),
        ],
        "graphrag.entities": [
            ("BAY", "bay", 2, "It is deep.", ["a0", "a1", "b0"]),
            ("LIN", "Dr Lin", 1, "A biologist who swims.", ["a0", "a1"]),
            ("SEA", "sea", 0, "It is far.", ["b0"]),
            ("TVA", "TVA", 1, "", ["b0"]),
        ],
        "graphrag.relationships": [("r1", "LIN", "BAY", 2.0), ("r2", "BAY", "TVA", 1.0)],
        "graphrag.communities": [
            (
                "c0",
                0,
                0,
                "Lin",
                3,
                None,
                ["c2", "c3"],
                ["BAY", "LIN", "TVA"],
                ["r1", "r2"],
                True,
            ),
            ("c1", 0, 1, "sea", 1, None, [], ["SEA"], [], True),
            ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY", "LIN"], ["r1"], True),
            ("c3", 1, 3, "TVA", 1, "c0", [], ["TVA"], [], True),
        ],
        "graphrag.community_reports": [(f"c{i}", "In short.") for i in range(4)],
        "graphrag.findings": [
            ("c0", 0, "Lin swims.", ["BAY", "LIN"], ["a0", "a1"]),
            ("c0", 1, "All is well.", ["LIN", "TVA"], ["a0", "b0"]),  # each mentions one of them
            ("c1", 0, "The sea.", ["SEA"], ["b0"]),
            ("c2", 0, "The bay.", ["BAY"], ["a0", "a1", "b0"]),
            ("c3", 0, "The TVA.", ["TVA"], ["b0"]),
        ],
        "graphrag.embeddings": [
            *(("entity", i, [0.6, 0.8]) for i in ("BAY", "LIN", "SEA", "TVA")),
            *(("report", f"c{i}", [0.0, -1.0]) for i in range(4)),
        ],
        "graphrag.key_points": [("q", 0, 0, 0), ("q", 1, 0, 100), ("p", 0, 0, 55)],
        "graphrag.reduced_contexts": [("q", 0, 1), ("q", 0, 2), ("p", 0, 1)],
    },
)
JERR = Good(
    {
        "documents": "document_id text",
        "contexts": "query_id node_id",
        "jerr.line_chunks": "max_tokens chunk_id document_id position start end text",
        "jerr.synopses": "max_tokens chunk_id document_id position synopsis",
        "jerr.elements": "max_tokens chunk_id document_id element element_key",
        "jerr.relations": "max_tokens chunk_id document_id source_key target_key relation",
        "jerr.merges": "max_tokens element node_id rule n_bits",
        "jerr.nodes": "max_tokens node_id place",
        "jerr.edges": "max_tokens source_id target_id",
        "jerr.left_out_edges": "max_tokens source_id target_id cycle_ids",
        "jerr.pages": "document_id start end text",
        "jerr.searches": "query_id node_id name place step mean_reward",
        "jerr.look_ups": "query_id chunk_ids",
    },
    {
        "documents": [("a", "Lin swims.\n\nThe dam holds."), ("z", "What nobody asked about.")],
        "contexts": [("q", "a0"), ("q", "a1"), ("q", "LIN"), ("p", "a0")],
        "jerr.line_chunks": [
            (600, "a0", "a", 0, 0, 10, "Lin swims."),
            (600, "a1", "a", 1, 12, 26, "The dam holds."),
            (600, "z0", "z", 0, 0, 24, "What nobody asked about."),
            (2000, "a2", "a", 0, 0, 26, "Lin swims.\n\nThe dam holds."),
            (2000, "z0", "z", 0, 0, 24, "What nobody asked about."),  # of either size the same
        ],
        "jerr.synopses": [
            (600, "a0", "a", 0, "Lin swims."),
            (600, "a1", "a", 1, "It holds."),
            (600, "z0", "z", 0, "Nothing."),
            (2000, "a2", "a", 0, "Lin, a dam."),
            (2000, "z0", "z", 0, "Nothing."),
        ],
        "jerr.elements": [
            (600, "a0", "a", "Lin", "lin"),
            (600, "a0", "a", "the bay", "bay"),
            (600, "a1", "a", "Bay", "bay"),
            (600, "a1", "a", "dam", "dam"),
            (600, "z0", "z", "Lin", "lin"),
            (2000, "a2", "a", "dams", "dams"),
            (2000, "a2", "a", "dam", "dam"),
            (2000, "z0", "z", "bay", "bay"),
        ],
        "jerr.relations": [
            (600, "a0", "a", "lin", "bay", "swims in"),
            (600, "a1", "a", "bay", "dam", "ends at the"),
            (600, "a1", "a", "dam", "bay", "holds"),
            (2000, "a2", "a", "dam", "dams", "is"),
        ],
        "jerr.merges": [
            (600, "Lin", "LIN", "own", 0),
            (600, "the bay", "BAY", "own", 0),
            (600, "Bay", "BAY", "exact", 0),
            (600, "dam", "DAM", "own", 0),
            (2000, "dam", "DAM", "own", 0),
            (2000, "dams", "DAM", "near", 3),
            (2000, "bay", "BAY", "own", 0),
        ],
        "jerr.nodes": [
            (600, "LIN", 0),
            (600, "BAY", 1),
            (600, "DAM", 2),
            (2000, "DAM", 0),
            (2000, "BAY", 1),
        ],
        "jerr.edges": [(600, "LIN", "BAY"), (600, "BAY", "DAM"), (2000, "DAM", "BAY")],
        "jerr.left_out_edges": [
            (600, "DAM", "LIN", ["DAM", "LIN", "BAY"]),
            (600, "DAM", "BAY", ["DAM", "BAY"]),
            (600, "DAM", "DAM", ["DAM"]),
        ],
        "jerr.pages": [
            ("a", 0, 10, "Lin swims."),
            ("a", 12, 26, "The dam holds."),
            ("z", 0, 24, "What nobody asked about."),
        ],
        "jerr.searches": [
            ("q", "BAY", "bay", 1, 2, 1.0),
            ("q", "LIN", "Lin", 2, 1, 0.5),
            ("q", "DAM", "dam", 3, None, 0.0),
            ("p", "DAM", "dam", 1, 1, 0.25),
            ("r", "DAM", "dam", 1, None, None),  # by PageRank
        ],
        "jerr.look_ups": [("q", ["a1", "a0"]), ("p", []), ("r", [])],
    },
)
FAMILIES = {
    "corpus": CORPUS,
    "gor": GOR,
    "lightpal": LIGHTPAL,
    "gae": GAE,
    "evidence": EVIDENCE,
    "graphrag": GRAPHRAG,
    "jerr": JERR,
}
