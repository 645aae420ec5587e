"""Which checks each table has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.checks import (
    documents,
    every_table,
    gae,
    gor,
    graphrag,
    graphrag_reports,
    jerr,
    jerr_graph,
    judges,
    lightpal,
    results,
)
from gsum_assets.checks.failures import latest_failures
from gsum_assets.checks.finding import Finding
from gsum_assets.checks.part import Part, Subject
from gsum_assets.retrieval.oracles import askable


@dataclass(frozen=True)
class Check:
    """One property of a table.

    Attributes
    ----------
    name : as the UI shows it.
    meaning : what holds when it passes, one sentence.
    look : looks at one corpus (and method).
    warns : failing means that a person should look at it, not that the data are broken.
    """

    name: str
    meaning: str
    look: Callable[[Part], Finding]
    warns: bool = False


_PLACED_CHUNKS = ["chunk_id", "document_id", "position"]
_NAMED_IN = ["chunk_id", "name_key"]
_LINE_CHUNK = ["max_tokens", "chunk_id"]
_EDGE = ["max_tokens", "source_id", "target_id"]
_PAIR = ["level", "passage_id", "candidate_id"]
_PASSAGE_EDGE = ["graph", "level", "scope", "source_id", "target_id"]
_SLICE = ["document_id", "start", "end", "text"]

CHECKS: Mapping[str, Sequence[Check]] = {
    "rejected_documents": [
        Check(
            "none_rejected",
            "Every document of the corpus folder could be taken in.",
            lambda part: documents.none_rejected(part.rows(), part.corpus),
            warns=True,
        )
    ],
    "chunks": [
        Check(
            "cover_documents",
            "Each chunk is an exact slice of its document, and every character that is not blank "
            "lies in a chunk.",
            lambda part: documents.cover_documents(part.rows(), part.rows("documents")),
        )
    ],
    "chunk_embeddings": [
        Check(
            "finite",
            "Each chunk has one vector, finite and of unit length, and all have one dimension.",
            lambda part: documents.finite(
                part.rows(), part.rows("chunks", ["chunk_id", "document_id"]), _dimensions(part)
            ),
        )
    ],
    "query_embeddings": [
        Check(
            "finite",
            "Each question has one vector, finite and of unit length.",
            lambda part: documents.finite(
                part.rows(), part.rows("queries", ["query_id"]), _dimensions(part), "query"
            ),
        )
    ],
    "rankings": [
        Check(
            "ranks_consecutive",
            "The ranks of each question and level count up from 1.",
            lambda part: results.ranks_consecutive(part.rows()),
        )
    ],
    "contexts": [
        Check(
            "cite_what_exists",
            "Passages that are chunks exist in `chunks`, with the same text.",
            lambda part: results.cite_what_exists(
                part.rows(), part.rows("chunks", ["chunk_id", "text"])
            ),
        )
    ],
    "summaries": [
        Check(
            "every_question_answered",
            "Each question of `queries` has an answer.",
            lambda part: results.every_question_answered(
                askable(part.method, part.rows("queries")), part.rows(), part.corpus
            ),
            warns=True,
        )
    ],
    "scores": [
        Check(
            "in_range",
            "Every score is finite and between 0 and 1.",
            lambda part: results.in_range(part.rows()),
        )
    ],
    "gor.record_nodes": [
        Check(
            "are_chunks_and_responses",
            "The nodes are the chunks and the responses of their documents.",
            lambda part: gor.are_chunks_and_responses(
                part.rows(columns=["node_id", "document_id"]),
                part.rows("chunks", ["chunk_id", "document_id"]),
                part.rows("gor.historical_responses", ["response_id", "document_id"]),
            ),
        )
    ],
    "gor.record_edges": [
        Check(
            "join_nodes",
            "Each edge leads from a node to a later response of the same document.",
            lambda part: gor.join_nodes(
                part.rows(),
                part.rows("gor.record_nodes", ["node_id", "document_id", "kind", "position"]),
            ),
        )
    ],
    "gor.node_rankings": [
        Check(
            "source_comes_first",
            "Of all nodes, a question's own source resembles its source most.",
            lambda part: gor.source_comes_first(
                part.rows(columns=["query_id", "node_id", "f1"]),
                part.rows("gor.simulated_queries", ["query_id", "chunk_id"]),
            ),
        )
    ],
    "gor.training_log": [
        Check(
            "loss_falls",
            "Losses are finite, and the last epoch's lies below the first's.",
            lambda part: gor.loss_falls(part.rows()),
            warns=True,
        )
    ],
    "gor.source_ranks": [
        Check(
            "training_helps",
            "On documents not learnt from, the trained network ranks a question's source among "
            "the chunks higher than dense retrieval does.",
            lambda part: gor.training_helps(part.rows()),
            warns=True,
        )
    ],
    "lightpal.candidates": [
        Check(
            "are_passages",
            "Both ends are passages of the corpus, none is its own candidate, and all passages "
            "of a level have equally many.",
            lambda part: lightpal.are_passages(
                part.rows(columns=_PAIR, as_dictionaries=_PAIR),
                part.rows("chunks", ["chunk_id", "document_id"]),
            ),
        )
    ],
    "lightpal.context_scores": [
        Check(
            "all_scored",
            "Every candidate has a context score.",
            lambda part: lightpal.all_scored(_scores(part), part.corpus),
            warns=True,
        ),
        Check(
            "finite",
            "Every score that there is is finite.",
            lambda part: lightpal.finite(_scores(part)),
        ),
    ],
    "lightpal.passage_edges": [
        Check(
            "join_candidates",
            "Each edge leads from a passage to one of its candidates, within a document where its "
            "scope is that; a passage's edges are ranked from 1 up.",
            lambda part: lightpal.join_candidates(
                part.rows(columns=[*_PASSAGE_EDGE, "rank"], as_dictionaries=_PASSAGE_EDGE),
                part.rows("lightpal.candidates", _PAIR, as_dictionaries=_PAIR),
                part.rows("chunks", ["chunk_id", "document_id"]),
            ),
        )
    ],
    "gae.graph_edges": [
        Check(
            "join_passages",
            "Each edge joins two passages of its level, neighbours side by side in one document.",
            lambda part: gae.join_passages(part.rows(), part.rows("chunks", _PLACED_CHUNKS)),
        )
    ],
    "gae.embeddings": [
        Check(
            "finite",
            "Each passage has one embedding, and it is finite.",
            lambda part: gae.finite(part.rows(), part.rows("chunks", _PLACED_CHUNKS)),
        ),
        Check(
            "not_over_smoothed",
            "Embeddings differ: the mean cosine of two is at most 0.99.",
            lambda part: gae.not_over_smoothed(part.rows()),
            warns=True,
        ),
    ],
    "gae.clusters": [
        Check(
            "every_passage_once",
            "Every clustering has each passage of its level once; clusters are numbered from 0, "
            "largest first.",
            lambda part: gae.every_passage_once(part.rows(), part.rows("chunks", _PLACED_CHUNKS)),
        )
    ],
    "gae.clusterings": [
        Check(
            "not_degenerate",
            "No chosen clustering has over half of the passages in one cluster, or nearly each in "
            "a cluster of its own.",
            lambda part: gae.not_degenerate(part.rows(), part.rows("chunks", _PLACED_CHUNKS)),
            warns=True,
        )
    ],
    "gae.refined_contexts": [
        Check(
            "made_from_contexts",
            "Each passage is one of its question's contexts, and no longer than it unless it was "
            "edited.",
            lambda part: gae.made_from_contexts(
                part.rows(), part.rows("contexts", ["query_id", "node_id"])
            ),
        ),
        Check(
            "published_clusters_part",
            "DBSCAN, which gae-dbscan follows, has not over half of the passages in one cluster, "
            "nor nearly each in a cluster of its own.",
            lambda part: gae.not_degenerate(
                gae.as_published(part.rows("gae.clusterings"), part.looked_at[0].method),
                part.rows("chunks", _PLACED_CHUNKS),
            ),
            warns=True,
        ),
    ],
    "graphrag.extractions": [
        Check(
            "no_malformed_replies",
            "No chunk got a malformed reply.",
            lambda part: graphrag.no_malformed_replies(part.rows(), part.corpus),
            warns=True,
        )
    ],
    "graphrag.entity_mentions": [
        Check(
            "of_chunks",
            "Each mention is of a chunk that exists.",
            lambda part: graphrag.of_chunks(
                part.rows(columns=["chunk_id", "document_id", "name"]),
                part.rows("chunks", ["chunk_id"]),
            ),
        ),
        Check(
            "names_in_text",
            "Of the names that a model found, at least half stand in their chunks.",
            lambda part: graphrag.names_in_text(
                part.rows(columns=["chunk_id", "document_id", "name", "is_verbatim", "model"])
            ),
            warns=True,
        ),
    ],
    "graphrag.relationship_mentions": [
        Check(
            "join_mentions",
            "Both ends are mentioned in the same chunk, and differ; strength is 1 to 10.",
            lambda part: graphrag.join_mentions(
                part.rows(), part.rows("graphrag.entity_mentions", _NAMED_IN)
            ),
        )
    ],
    "graphrag.claims": [
        Check(
            "about_mentions",
            "A claim's subject is mentioned in its chunk; it is true, false or suspected.",
            lambda part: graphrag.about_mentions(
                part.rows(), part.rows("graphrag.entity_mentions", _NAMED_IN)
            ),
        )
    ],
    "graphrag.aliases": [
        Check(
            "names_resolve",
            "Every name that is mentioned stands for an entity; each entity has one name of its "
            "own, and others by evidence in chunks that exist.",
            lambda part: graphrag.names_resolve(
                part.rows(),
                part.rows("graphrag.entity_mentions", ["name_key"]),
                part.rows("chunks", ["chunk_id"]),
            ),
        )
    ],
    "graphrag.entities": [
        Check(
            "stand_for_mentions",
            "An entity names the chunks that mention it by one of its names, and is described "
            "where one of them describes it.",
            lambda part: graphrag.stand_for_mentions(
                part.rows(columns=["entity_id", "name", "description", "chunk_ids"]),
                part.rows("graphrag.entity_mentions", [*_NAMED_IN, "description"]),
                part.rows("graphrag.aliases", ["name_key", "entity_id"]),
            ),
        )
    ],
    "graphrag.relationships": [
        Check(
            "join_entities",
            "Each joins two entities and weighs as much as it has mentions; an entity's degree is "
            "the number of its relationships.",
            lambda part: graphrag.join_entities(
                part.rows(columns=["relationship_id", "source_id", "target_id", "weight"]),
                part.rows("graphrag.entities", ["entity_id", "name", "degree"]),
                part.rows("graphrag.relationship_mentions", ["source_key", "target_key"]),
                part.rows("graphrag.aliases", ["name_key", "entity_id"]),
            ),
        )
    ],
    "graphrag.communities": [
        Check(
            "cover_entities",
            "Each level shows every entity once; parts make up their community; a community names "
            "the relationships with both ends in it.",
            lambda part: graphrag_reports.cover_entities(
                part.rows(),
                part.rows("graphrag.entities", ["entity_id"]),
                part.rows("graphrag.relationships", ["relationship_id", "source_id", "target_id"]),
            ),
        )
    ],
    "graphrag.community_reports": [
        Check(
            "every_community_reported",
            "Each community has a report.",
            lambda part: graphrag_reports.every_community_reported(
                part.rows(columns=["community_id"]),
                part.rows("graphrag.communities"),
                part.corpus,
            ),
            warns=True,
        )
    ],
    "graphrag.findings": [
        Check(
            "cite_what_supports",
            "Each finding cites chunks that exist; each of these mentions one of its entities, "
            "and each of its entities is mentioned by one of these.",
            lambda part: graphrag_reports.cite_what_supports(
                part.rows(),
                part.rows("graphrag.entities", ["entity_id", "chunk_ids"]),
                part.rows("chunks", ["chunk_id"]),
            ),
        )
    ],
    "graphrag.embeddings": [
        Check(
            "finite",
            "Each entity and each report has one vector, finite and of unit length.",
            lambda part: graphrag_reports.finite(
                part.rows(),
                part.rows("graphrag.entities", ["entity_id"]),
                part.rows("graphrag.community_reports", ["community_id"]),
            ),
        )
    ],
    "graphrag.partial_answers": [
        Check(
            "in_range",
            "Helpfulness is 0 to 100.",
            lambda part: graphrag_reports.in_range(part.rows()),
        )
    ],
    "graphrag.reduced_contexts": [
        Check(
            "ranks_consecutive",
            "The ranks of each question's context count up from 1.",
            lambda part: graphrag_reports.ranks_consecutive(
                part.rows(columns=["query_id", "sample", "rank"])
            ),
        )
    ],
    "jerr.line_chunks": [
        Check(
            "cover_documents",
            "Of each size, line chunks are exact slices of their documents, and every character "
            "that is not blank lies in one.",
            lambda part: jerr.line_chunks_cover(
                part.rows(columns=["max_tokens", *_SLICE]),
                part.rows("documents", ["document_id", "text"]),
            ),
        )
    ],
    "jerr.synopses": [
        Check(
            "every_chunk_has_one",
            "Each line chunk has a synopsis that is not empty.",
            lambda part: jerr.every_chunk_has_one(
                part.rows(columns=[*_LINE_CHUNK, "synopsis"]),
                part.rows("jerr.line_chunks", [*_LINE_CHUNK, "document_id", "position"]),
                part.corpus,
            ),
            warns=True,
        )
    ],
    "jerr.elements": [
        Check(
            "every_synopsis_has_some",
            "Each synopsis has a core element at least, each of a line chunk that exists.",
            lambda part: jerr.every_synopsis_has_some(
                part.rows(columns=[*_LINE_CHUNK, "document_id", "element"]),
                part.rows("jerr.synopses", [*_LINE_CHUNK, "document_id", "position", "synopsis"]),
                part.rows("jerr.line_chunks", _LINE_CHUNK),
                part.corpus,
            ),
            warns=True,
        )
    ],
    "jerr.relations": [
        Check(
            "join_elements",
            "Both ends are elements of the same line chunk; a relation has one to three words.",
            lambda part: jerr.join_elements(
                part.rows(
                    columns=[*_LINE_CHUNK, "document_id", "source_key", "target_key", "relation"]
                ),
                part.rows("jerr.elements", [*_LINE_CHUNK, "element_key"]),
            ),
        )
    ],
    "jerr.nodes": [
        Check(
            "stand_for_elements",
            "Every written form of an element became a node that exists; near ones differ by at "
            "most 3 bits of 64.",
            lambda part: jerr_graph.lead_to_nodes(
                part.rows("jerr.merges", ["max_tokens", "element", "node_id", "rule", "n_bits"]),
                part.rows(columns=["max_tokens", "node_id"]),
                part.rows("jerr.elements", ["max_tokens", "element"]),
            ),
        )
    ],
    "jerr.edges": [
        Check(
            "close_no_cycle",
            "Edges join two nodes, lead on in the order of their places, and close no cycle.",
            lambda part: jerr_graph.close_no_cycle(
                part.rows(columns=_EDGE),
                part.rows("jerr.nodes", ["max_tokens", "node_id", "place"]),
            ),
        )
    ],
    "jerr.left_out_edges": [
        Check(
            "would_close_cycles",
            "The cycle that is told of each is made of itself and of edges of the graph.",
            lambda part: jerr_graph.would_close_cycles(
                part.rows(columns=[*_EDGE, "cycle_ids"]), part.rows("jerr.edges", _EDGE)
            ),
        )
    ],
    "jerr.pages": [
        Check(
            "cover_documents",
            "Pages are exact slices of their documents, and every character that is not blank "
            "lies in one.",
            lambda part: jerr.pages_cover(
                part.rows(columns=_SLICE), part.rows("documents", ["document_id", "text"])
            ),
        )
    ],
    "jerr.searches": [
        Check(
            "visit_nodes",
            "Visited nodes are in the graph, places count up from 1, mean rewards are 0 to 1, and "
            "the best path follows edges.",
            lambda part: jerr_graph.visit_nodes(
                part.rows(columns=["query_id", "node_id", "name", "place", "step", "mean_reward"]),
                part.rows("jerr.nodes", ["max_tokens", "node_id"]),
                part.rows("jerr.edges", _EDGE),
            ),
        )
    ],
    "jerr.look_ups": [
        Check(
            "name_what_was_shown",
            "What is to be read again was shown with its question.",
            lambda part: jerr.name_what_was_shown(
                part.rows(columns=["query_id", "chunk_ids"]),
                part.rows("contexts", ["query_id", "node_id"]),
            ),
        )
    ],
    "leaderboard": [
        Check(
            "mean_in_interval",
            "Every mean lies within its 95% interval.",
            lambda part: results.mean_in_interval(part.rows()),
        )
    ],
    "curves": [
        Check(
            "mean_in_interval",
            "Every mean lies within its 95% interval.",
            lambda part: results.mean_in_interval(part.rows()),
        )
    ],
    "comparisons": [
        Check(
            "mean_in_interval",
            "Every mean difference lies within its 95% interval.",
            lambda part: results.difference_in_interval(part.rows()),
        )
    ],
    "judgements": [
        Check(
            "verdicts_parsed",
            "Every reply of the judge held a verdict.",
            lambda part: judges.verdicts_parsed(part.rows(), part.corpus),
            warns=True,
        ),
        Check(
            "no_position_bias",
            "The judge does not prefer an answer for the place where it is shown.",
            lambda part: judges.no_position_bias(part.rows()),
            warns=True,
        ),
    ],
}
"""Checks of one table each, besides those that every table has; methods add theirs here."""

_SCHEMA = Check(
    "schema",
    "Columns, types and nullability are those declared, and each file tells its provenance.",
    lambda part: every_table.schema(part.subject.table, part.footers),
)
_IDS_UNIQUE = Check(
    "ids_unique",
    "No two rows of a corpus (and method) have the same key.",
    lambda part: every_table.ids_unique(part.keys(), part.subject.table.key, len(part.whole)),
)
_LINEAGE_IS_CURRENT = Check(
    "lineage_is_current",
    "Inputs, settings, models and code are those that each partition was made from.",
    lambda part: every_table.lineage_is_current(part.changes(), part.corpus),
    warns=True,
)
_REQUESTS_ANSWERED = Check(
    "requests_answered",
    "Every request to the language model got a valid reply.",
    lambda part: every_table.requests_answered(
        part.provenances(), latest_failures(part), part.corpus
    ),
    warns=True,
)


def checks_for(subject: Subject) -> list[Check]:
    """The checks of an asset's table: those of every table that apply, then its own."""
    general = [_SCHEMA, _IDS_UNIQUE] if subject.table.key else [_SCHEMA]
    general.append(_LINEAGE_IS_CURRENT)
    if subject.asks_model:
        general.append(_REQUESTS_ANSWERED)
    return [*general, *CHECKS.get(subject.table.name, ())]


def _scores(part: Part) -> pa.Table:
    return part.rows(columns=[*_PAIR, "score"], as_dictionaries=_PAIR)


def _dimensions(part: Part) -> set[int]:
    """The vector lengths of all buckets that have rows."""
    return {
        getattr(footer.schema.to_arrow_schema().field("embedding").type, "list_size", 0)
        for footer in part.footers.values()
        if footer.num_rows
    }
