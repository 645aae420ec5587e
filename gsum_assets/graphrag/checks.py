"""Checks of mentions in chunks, and of the graph merged from them."""

from collections.abc import Mapping, Sequence
from textwrap import shorten

import pyarrow as pa

from gsum_assets.graphrag import report_checks
from gsum_assets.graphrag.name_groups import SENSES
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_assets.pipeline.references import are_among, lacking, times_among, unnested
from gsum_resources.store.arrow import pc

_INVENTED = 0.5  # share of names absent from the text beyond which a model invents names
_STATES = ("true", "false", "suspected")
_WEAKEST, _STRONGEST = 1, 10
_REASON = 200  # characters


def no_malformed_replies(extractions: pa.Table, corpus: str) -> Finding:
    """Check that no chunk got a malformed reply."""
    is_malformed = pc.greater(pc.list_value_length(extractions["problems"]), 0)
    wrong = extractions.filter(is_malformed).select(["chunk_id", "document_id", "problems"])
    first = wrong["problems"][0][0].as_py() if wrong.num_rows else ""
    return found(
        count(extractions.num_rows, "chunk"),
        wrong,
        f"got malformed replies, of which only the valid items are kept (first: "
        f"{shorten(first, _REASON, placeholder=' …')}); `gsum run {corpus}` requests these once "
        "more; if that fails, choose another model or structured_output in gsum.toml, [llm]",
    )


def of_chunks(mentions: pa.Table, chunks: pa.Table) -> Finding:
    """Check that the chunk of each mention exists.

    Parameters
    ----------
    mentions, chunks : `chunk_id` of the same buckets, of mentions also `name`.
    """
    return found(
        count(mentions.num_rows, "mention"),
        lacking(mentions, ["chunk_id"], chunks),
        "belong to no existing chunk; materialize graphrag/entity_mentions again",
    )


def names_in_text(mentions: pa.Table) -> Finding:
    """Check that most names found by a model occur in their chunks; files may have other names."""
    by_model = mentions.filter(pc.not_equal(mentions["model"], ""))
    absent = by_model.filter(pc.invert(by_model["is_verbatim"]))
    examined = count(by_model.num_rows, "mention")
    if absent.num_rows <= _INVENTED * by_model.num_rows:
        return Finding(examined)
    return found(
        examined,
        absent.select(["chunk_id", "document_id", "name", "model"]),
        "have a name that the text of their chunk does not contain: the model invents or "
        "translates names; choose another one in gsum.toml, [llm]",
    )


def join_mentions(relationships: pa.Table, mentions: pa.Table) -> Finding:
    """Check that a relationship joins two names mentioned in its chunk, with a valid strength.

    Parameters
    ----------
    relationships, mentions : `graphrag.relationship_mentions` and `graphrag.entity_mentions`, of
        the same buckets; of mentions `chunk_id` and `name_key`.
    """
    shown = relationships.select(
        ["chunk_id", "document_id", "source_key", "target_key", "strength"]
    )
    mentioned = [
        are_among(shown, ["chunk_id", end], mentions, ["chunk_id", "name_key"])
        for end in ("source_key", "target_key")
    ]
    strength = shown["strength"]
    is_strength = pc.and_(pc.greater_equal(strength, _WEAKEST), pc.less_equal(strength, _STRONGEST))
    examined = count(relationships.num_rows, "relationship")
    remedy = "materialize graphrag/relationship_mentions again"
    return together(
        [
            found(
                examined,
                shown.filter(pc.invert(pc.and_(*mentioned))),
                f"have an end that their chunk does not mention; {remedy}",
            ),
            found(
                examined,
                shown.filter(pc.equal(shown["source_key"], shown["target_key"])),
                f"join a name to itself; {remedy}",
            ),
            found(
                examined,
                shown.filter(pc.invert(is_strength)),
                f"have a strength that is not {_WEAKEST} to {_STRONGEST}; {remedy}",
            ),
        ]
    )


def about_mentions(claims: pa.Table, mentions: pa.Table) -> Finding:
    """Check that a claim's subject is mentioned in its chunk, and its status is valid.

    Parameters
    ----------
    mentions : `chunk_id` and `name_key` of `graphrag.entity_mentions`, of the same buckets.
    """
    shown = claims.select(["chunk_id", "document_id", "subject_key", "status", "description"])
    is_state = pc.is_in(shown["status"], value_set=pa.array(_STATES))
    examined = count(claims.num_rows, "claim")
    remedy = "materialize graphrag/claims again"
    return together(
        [
            found(
                examined,
                lacking(shown, ["chunk_id", "subject_key"], mentions, ["chunk_id", "name_key"]),
                f"have a subject that their chunk does not mention; {remedy}",
            ),
            found(
                examined,
                shown.filter(pc.invert(is_state)),
                f"have a status other than {', '.join(_STATES)}; {remedy}",
            ),
        ]
    )


def names_resolve(aliases: pa.Table, mentions: pa.Table, chunks: pa.Table) -> Finding:
    """Check that every name has an entity, each entity one own name, and every merge evidence.

    Parameters
    ----------
    mentions : `name_key` and `type` of `graphrag.entity_mentions` of the whole corpus.
    chunks : `chunk_id` of the whole corpus.
    """
    keys = _alias_keys(mentions["name_key"], mentions["type"], aliases)
    names = pa.table({"name_key": pc.unique(keys)})
    is_own = pc.equal(aliases["rule"], "own")
    entities = pa.table({"entity_id": pc.unique(aliases["entity_id"])})
    n_own = times_among(entities, ["entity_id"], aliases.filter(is_own))
    merged = aliases.filter(pc.invert(is_own)).select(
        ["name_key", "entity_id", "rule", "evidence_chunk_ids"]
    )
    evidence = unnested(merged, ["name_key", "rule"], "evidence_chunk_ids", "chunk_id")
    examined = count(aliases.num_rows, "name")
    remedy = "materialize graphrag/aliases again"
    return together(
        [
            found(
                examined,
                lacking(aliases.select(["name_key", "entity_id"]), ["name_key"], names),
                f"have no mention; {remedy}",
            ),
            found(
                count(names.num_rows, "mentioned name"),
                lacking(names, ["name_key"], aliases),
                f"have no entity; {remedy}",
            ),
            found(
                count(entities.num_rows, "entity", "entities"),
                entities.filter(pc.not_equal(n_own, 1)),
                f"have no own name, or several; {remedy}",
            ),
            found(
                count(merged.num_rows, "merged name"),
                merged.filter(pc.equal(pc.list_value_length(merged["evidence_chunk_ids"]), 0)),
                f"have no evidence; {remedy}",
            ),
            found(
                count(evidence.num_rows, "piece of evidence", "pieces of evidence"),
                lacking(evidence, ["chunk_id"], chunks),
                f"are not existing chunks; {remedy}",
            ),
        ]
    )


def stand_for_mentions(entities: pa.Table, mentions: pa.Table, aliases: pa.Table) -> Finding:
    """Check that entities list the chunks that mention them, and have a description from these.

    Parameters
    ----------
    mentions : `chunk_id`, `name_key`, `type` and `description` of `graphrag.entity_mentions` of
        the whole corpus.
    """
    said = pa.table(
        {
            "entity_id": _entity_ids(mentions["name_key"], mentions["type"], aliases),
            "chunk_id": mentions["chunk_id"],
            "description": mentions["description"],
        }
    ).drop_null()  # names without an entity are reported by `names_resolve`
    listed = unnested(entities, ["entity_id", "name"], "chunk_ids", "chunk_id")
    shown = entities.select(["entity_id", "name"])
    described = said.filter(pc.not_equal(said["description"], ""))
    is_bare = pc.equal(entities["description"], "")
    pair = ["entity_id", "chunk_id"]
    examined = count(entities.num_rows, "entity", "entities")
    remedy = "materialize graphrag/entities again"
    return together(
        [
            found(
                examined,
                shown.filter(pc.and_(is_bare, are_among(shown, ["entity_id"], described))),
                f"have no description though a chunk describes them; {remedy}",
            ),
            found(
                count(listed.num_rows, "chunk of an entity", "chunks of entities"),
                lacking(listed, pair, said),
                f"do not mention it; {remedy}",
            ),
            found(
                count(said.num_rows, "mention"),
                lacking(said.select(pair), pair, listed),
                f"have an entity that does not list their chunk; {remedy}",
            ),
        ]
    )


def join_entities(
    relationships: pa.Table, entities: pa.Table, mentions: pa.Table, aliases: pa.Table
) -> Finding:
    """Check that ends exist and differ, and that weights and degrees are correct counts.

    Parameters
    ----------
    entities : `entity_id`, `name` and `degree`.
    mentions : keys and types of the ends in `graphrag.relationship_mentions` of the whole corpus.
    """
    ends = ["source_id", "target_id"]
    shown = relationships.select(["relationship_id", *ends, "weight"])
    known = [are_among(shown, [end], entities, ["entity_id"]) for end in ends]
    is_loop = pc.equal(*(shown[end] for end in ends))
    mentioned_pairs = _pairs(
        *(
            _entity_ids(mentions[f"{end}_key"], mentions[f"{end}_type"], aliases)
            for end in ("source", "target")
        )
    )
    mentioned_pairs = mentioned_pairs.filter(
        pc.not_equal(*mentioned_pairs.columns)
    )  # two names of one entity are not related
    pairs = _pairs(*(shown[end] for end in ends))
    n_pair_mentions = times_among(pairs, pairs.column_names, mentioned_pairs)
    of_ends = pa.concat_tables(shown.select([end]).rename_columns(["entity_id"]) for end in ends)
    n_related = times_among(entities, ["entity_id"], of_ends)
    examined = count(relationships.num_rows, "relationship")
    remedy = "materialize graphrag/relationships again"
    return together(
        [
            found(
                examined,
                shown.filter(pc.invert(pc.and_(*known))),
                f"have an end that is not an entity; {remedy}",
            ),
            found(examined, shown.filter(is_loop), f"join an entity to itself; {remedy}"),
            found(
                examined,
                shown.filter(pc.not_equal(shown["weight"], n_pair_mentions)),
                f"have a weight that is not the number of their mentions; {remedy}",
            ),
            found(
                count(mentioned_pairs.num_rows, "mention"),
                lacking(mentioned_pairs, mentioned_pairs.column_names, pairs),
                f"have entities that no relationship joins; {remedy}",
            ),
            found(
                count(entities.num_rows, "entity", "entities"),
                entities.filter(pc.not_equal(entities["degree"], n_related)),
                "have a degree that is not the number of their relationships; materialize "
                "graphrag/entities and graphrag/relationships again",
            ),
        ]
    )


def _alias_keys(
    keys: pa.ChunkedArray, kinds: pa.ChunkedArray, aliases: pa.Table
) -> pa.ChunkedArray:
    """Return the name_key in `aliases` of each mention, which for a homonym has its sense."""
    senses = pa.array([f" [{sense}]" for sense in SENSES.values()], pa.string())
    marks = pc.take(senses, pc.index_in(kinds, value_set=pa.array(list(SENSES), pa.string())))
    homonyms = pc.binary_join_element_wise(keys, marks, "")
    is_known = pc.is_in(homonyms, value_set=aliases["name_key"].combine_chunks())
    return pc.if_else(pc.and_(is_known, pc.is_valid(homonyms)), homonyms, keys)


def _entity_ids(
    keys: pa.ChunkedArray, kinds: pa.ChunkedArray, aliases: pa.Table
) -> pa.ChunkedArray:
    """Return the entity of each mention; null if there is none."""
    known = aliases["name_key"].combine_chunks()
    index = pc.index_in(_alias_keys(keys, kinds, aliases), value_set=known)
    return pc.take(aliases["entity_id"], index)


def _pairs(sources: pa.ChunkedArray, targets: pa.ChunkedArray) -> pa.Table:
    """Return the two entities of each row, in the order of their ids, without incomplete rows."""
    is_swapped = pc.greater(sources, targets)
    first, second = (
        pc.if_else(is_swapped, targets, sources),
        pc.if_else(is_swapped, sources, targets),
    )
    return pa.table({"one_id": first, "other_id": second}).drop_null()


_NAMED_IN = ["chunk_id", "name_key"]

CHECKS: Mapping[str, Sequence[Check]] = {
    "graphrag.extractions": [
        Check(
            "no_malformed_replies",
            "No chunk got a malformed reply.",
            lambda partition: no_malformed_replies(partition.rows(), partition.corpus),
            warns=True,
        )
    ],
    "graphrag.entity_mentions": [
        Check(
            "of_chunks",
            "Each mention is of a chunk that exists.",
            lambda partition: of_chunks(
                partition.rows(columns=["chunk_id", "document_id", "name"]),
                partition.rows("chunks", ["chunk_id"]),
            ),
        ),
        Check(
            "names_in_text",
            "At least half of the names found by a model occur in their chunks.",
            lambda partition: names_in_text(
                partition.rows(columns=["chunk_id", "document_id", "name", "is_verbatim", "model"])
            ),
            warns=True,
        ),
    ],
    "graphrag.relationship_mentions": [
        Check(
            "join_mentions",
            "Both ends are mentioned in the same chunk, and differ; strength is 1 to 10.",
            lambda partition: join_mentions(
                partition.rows(), partition.rows("graphrag.entity_mentions", _NAMED_IN)
            ),
        )
    ],
    "graphrag.claims": [
        Check(
            "about_mentions",
            "A claim's subject is mentioned in its chunk; it is true, false or suspected.",
            lambda partition: about_mentions(
                partition.rows(), partition.rows("graphrag.entity_mentions", _NAMED_IN)
            ),
        )
    ],
    "graphrag.aliases": [
        Check(
            "names_resolve",
            "Every mentioned name has an entity; each entity has one own name, and others with "
            "evidence in existing chunks.",
            lambda partition: names_resolve(
                partition.rows(),
                partition.rows("graphrag.entity_mentions", ["name_key", "type"]),
                partition.rows("chunks", ["chunk_id"]),
            ),
        )
    ],
    "graphrag.entities": [
        Check(
            "stand_for_mentions",
            "An entity lists the chunks that mention it, and has a description if one of them "
            "describes it.",
            lambda partition: stand_for_mentions(
                partition.rows(columns=["entity_id", "name", "description", "chunk_ids"]),
                partition.rows("graphrag.entity_mentions", [*_NAMED_IN, "type", "description"]),
                partition.rows("graphrag.aliases", ["name_key", "entity_id"]),
            ),
        )
    ],
    "graphrag.relationships": [
        Check(
            "join_entities",
            "Each joins two entities, and its weight is its number of mentions; an entity's degree "
            "is the number of its relationships.",
            lambda partition: join_entities(
                partition.rows(columns=["relationship_id", "source_id", "target_id", "weight"]),
                partition.rows("graphrag.entities", ["entity_id", "name", "degree"]),
                partition.rows(
                    "graphrag.relationship_mentions",
                    ["source_key", "source_type", "target_key", "target_type"],
                ),
                partition.rows("graphrag.aliases", ["name_key", "entity_id"]),
            ),
        )
    ],
    "graphrag.communities": [
        Check(
            "cover_entities",
            "Each level has every entity once; the children of a community have its entities; a "
            "community lists the relationships with both ends in it.",
            lambda partition: report_checks.cover_entities(
                partition.rows(),
                partition.rows("graphrag.entities", ["entity_id"]),
                partition.rows(
                    "graphrag.relationships", ["relationship_id", "source_id", "target_id"]
                ),
            ),
        )
    ],
    "graphrag.community_reports": [
        Check(
            "every_community_reported",
            "Each community has a report.",
            lambda partition: report_checks.every_community_reported(
                partition.rows(columns=["community_id"]),
                partition.rows("graphrag.communities"),
                partition.corpus,
            ),
            warns=True,
        )
    ],
    "graphrag.findings": [
        Check(
            "cite_what_supports",
            "Each finding cites existing chunks, each of which mentions one of its entities, and "
            "each of its entities is mentioned by one of them.",
            lambda partition: report_checks.cite_what_supports(
                partition.rows(),
                partition.rows("graphrag.entities", ["entity_id", "chunk_ids"]),
                partition.rows("chunks", ["chunk_id"]),
            ),
        )
    ],
    "graphrag.embeddings": [
        Check(
            "finite",
            "Each entity and each report has one vector, finite and of unit length.",
            lambda partition: report_checks.finite(
                partition.rows(),
                partition.rows("graphrag.entities", ["entity_id"]),
                partition.rows("graphrag.community_reports", ["community_id"]),
            ),
        )
    ],
    "graphrag.partial_answers": [
        Check(
            "in_range",
            "Helpfulness is 0 to 100.",
            lambda partition: report_checks.in_range(partition.rows()),
        )
    ],
    "graphrag.reduced_contexts": [
        Check(
            "ranks_consecutive",
            "The ranks of each question's context count up from 1.",
            lambda partition: report_checks.ranks_consecutive(
                partition.rows(columns=["query_id", "sample", "rank"])
            ),
        )
    ],
}
