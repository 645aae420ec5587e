"""Checks of communities, of their reports, and of partial answers."""

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.document_checks import UNIT_TOLERANCE
from gsum_assets.graphrag.communities import cut
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_assets.pipeline.references import are_among, lacking, times_among, unnested
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import pc

_MOST_HELPFUL = 100
_PLACE = ["finding", "community_id", "position"]


def cover_entities(communities: pa.Table, entities: pa.Table, relationships: pa.Table) -> Finding:
    """Check that levels have every entity once, and that the hierarchy and relationships agree.

    Parameters
    ----------
    entities : `entity_id`.
    relationships : `relationship_id`, `source_id` and `target_id`.
    """
    members = unnested(communities, ["community_id"], "entity_ids", "entity_id")
    remedy = "materialize graphrag/communities again"
    return together(
        [
            found(
                count(entities.num_rows, "entity", "entities"),
                _not_once(communities, entities),
                f"are not in each level exactly once; {remedy}",
            ),
            found(
                count(members.num_rows, "member"),
                lacking(members, ["entity_id"], entities),
                f"are not entities; {remedy}",
            ),
            _split_consistently(communities, members, remedy),
            _inside(communities, members, relationships, remedy),
        ]
    )


def _not_once(communities: pa.Table, entities: pa.Table) -> pa.Table:
    """Return the entities that a level does not have exactly once, with their number."""
    wrong = []
    for level in sorted({0, *communities["level"].to_pylist()}):
        shown = unnested(cut(communities, level), ["level"], "entity_ids", "entity_id")
        times = times_among(entities, ["entity_id"], shown)
        odd = pc.not_equal(times, 1)
        ids = entities["entity_id"].filter(odd)
        of_level = [pa.repeat(level, len(ids)), ids, times.filter(odd)]
        wrong.append(pa.table(of_level, ["level", "entity_id", "times"]))
    return pa.concat_tables(wrong)


def _split_consistently(communities: pa.Table, members: pa.Table, remedy: str) -> Finding:
    """Check that children and parents name each other, and have the same entities."""
    subcommunities = communities.filter(pc.is_valid(communities["parent_id"]))
    below = subcommunities.select(["parent_id", "community_id"])
    below = below.rename_columns(["community_id", "child_id"])
    listed = unnested(communities, ["community_id"], "child_ids", "child_id")
    of_subcommunities = unnested(subcommunities, ["parent_id"], "entity_ids", "entity_id")
    of_subcommunities = of_subcommunities.rename_columns(["community_id", "entity_id"])
    of_parents = members.filter(are_among(members, ["community_id"], listed))
    return together(
        [
            found(
                count(below.num_rows, "part of a community", "parts of communities"),
                _unlike(below, listed),
                f"are named by their community or name it, but not both; {remedy}",
            ),
            found(
                count(
                    of_parents.num_rows,
                    "member of a split community",
                    "members of split communities",
                ),
                _unlike(of_parents, of_subcommunities),
                f"lie in the community or in a part of it, but not in both; {remedy}",
            ),
        ]
    )


def _inside(
    communities: pa.Table, members: pa.Table, relationships: pa.Table, remedy: str
) -> Finding:
    """Check that communities list the relationships with both ends in them."""
    listed = unnested(communities, ["community_id"], "relationship_ids", "relationship_id")
    from_inside = relationships.join(members, "source_id", "entity_id", "inner")
    inside = from_inside.filter(
        are_among(
            from_inside, ["community_id", "target_id"], members, ["community_id", "entity_id"]
        )
    )
    return found(
        count(listed.num_rows, "relationship of a community", "relationships of communities"),
        _unlike(listed, inside.select(listed.column_names)),
        f"are named though an end lies outside, or are not named though both lie inside; {remedy}",
    )


def _unlike(left: pa.Table, right: pa.Table) -> pa.Table:
    """Return the rows that are in only one of two tables with the same text columns."""
    names = left.column_names
    both = [lacking(left, names, right), lacking(right, names, left)]
    return pa.concat_tables(both, promote_options="default")  # one may allow nulls


def every_community_reported(reports: pa.Table, communities: pa.Table, corpus: str) -> Finding:
    """Check that each community has a report."""
    shown = communities.select(["community_id", "level", "number", "title", "size"])
    return found(
        count(shown.num_rows, "community", "communities"),
        lacking(shown, ["community_id"], reports),
        "have no report, so answers ignore them; the log of graphrag/community_reports says why, "
        f"and `gsum run {corpus}` requests the missing reports again",
    )


def cite_what_supports(findings: pa.Table, entities: pa.Table, chunks: pa.Table) -> Finding:
    """Check that findings cite chunks that mention their entities, and all of these.

    Parameters
    ----------
    entities : `entity_id` and `chunk_ids`.
    chunks : `chunk_id` of the whole corpus.
    """
    numbers = pa.array([str(number) for number in range(findings.num_rows)], pa.string())
    rows = findings.append_column("finding", numbers)
    cited = unnested(rows, _PLACE, "chunk_ids", "chunk_id")
    about = unnested(rows, _PLACE, "entity_ids", "entity_id")
    pairs = cited.join(about.select(["finding", "entity_id"]), "finding", join_type="inner")
    pair = ["entity_id", "chunk_id"]
    mentioned = unnested(entities, ["entity_id"], "chunk_ids", "chunk_id")
    supported = pairs.filter(are_among(pairs, pair, mentioned))
    examined = count(findings.num_rows, "finding")
    of_chunks = count(cited.num_rows, "cited chunk")
    remedy = "materialize graphrag/community_reports and graphrag/findings again"
    return together(
        [
            found(
                examined,
                rows.select([*_PLACE, "summary"]).filter(
                    pc.equal(pc.list_value_length(rows["chunk_ids"]), 0)
                ),
                f"cite no chunk; {remedy}",
            ),
            found(of_chunks, lacking(cited, ["chunk_id"], chunks), f"do not exist; {remedy}"),
            found(
                of_chunks,
                lacking(cited, ["finding", "chunk_id"], supported),
                f"mention no entity that their finding is about; {remedy}",
            ),
            found(
                count(about.num_rows, "entity of a finding", "entities of findings"),
                lacking(about, ["finding", "entity_id"], supported),
                f"are mentioned by no chunk that the finding cites; {remedy}",
            ),
        ]
    )


def finite(embeddings: pa.Table, entities: pa.Table, reports: pa.Table) -> Finding:
    """Check that each entity and report has one vector, finite and of unit length.

    Parameters
    ----------
    entities : `entity_id`.
    reports : `community_id`.
    """
    shown = embeddings.select(["kind", "item_id"])
    lengths = np.linalg.norm(stacked(embeddings["embedding"]).astype(np.float64), axis=1)
    is_unit = np.abs(lengths - 1) <= UNIT_TOLERANCE  # false for what is not a number
    wanted = pa.concat_tables(
        pa.table([pa.repeat(kind, len(ids)), ids], shown.column_names)
        for kind, ids in (("entity", entities["entity_id"]), ("report", reports["community_id"]))
    )
    examined = count(shown.num_rows, "vector")
    remedy = "materialize graphrag/embeddings again"
    return together(
        [
            found(
                examined,
                shown.filter(pa.array(~is_unit)),
                f"are not finite and of unit length; {remedy}",
            ),
            found(
                count(wanted.num_rows, "entity or report", "entities and reports"),
                lacking(wanted, wanted.column_names, shown),
                f"have no vector; {remedy}",
            ),
            found(
                examined,
                lacking(shown, wanted.column_names, wanted),
                f"belong to no entity or report; {remedy}",
            ),
        ]
    )


def in_range(partial_answers: pa.Table) -> Finding:
    """Check that helpfulness is 0 to 100."""
    value = partial_answers["helpfulness"]
    fine = pc.and_(pc.greater_equal(value, 0), pc.less_equal(value, _MOST_HELPFUL))
    return found(
        count(partial_answers.num_rows, "partial answer"),
        partial_answers.select(["query_id", "pack", "helpfulness"]).filter(pc.invert(fine)),
        f"have a helpfulness that is not 0 to {_MOST_HELPFUL}; materialize "
        "graphrag/partial_answers again",
    )


def ranks_consecutive(reduced: pa.Table) -> Finding:
    """Check that the ranks of each question's context are 1, 2, 3, …"""
    keys = ["query_id", "sample"]
    groups = reduced.group_by(keys, use_threads=False).aggregate(
        [("rank", "min"), ("rank", "max"), ("rank", "count_distinct")]
    )
    groups = groups.rename_columns([*keys, "first_rank", "last_rank", "n_ranks"])
    complete = pc.and_(
        pc.equal(groups["first_rank"], 1), pc.equal(groups["last_rank"], groups["n_ranks"])
    )
    return found(
        count(groups.num_rows, "context"),
        groups.filter(pc.invert(complete)),
        "do not count their ranks up from 1; materialize graphrag/reduced_contexts again",
    )
