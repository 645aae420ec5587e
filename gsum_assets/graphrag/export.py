"""The entity graph as GraphML, for Gephi, networkx, yEd and whatever else reads it.

Nodes are entities, edges the relationships between them. XML cannot hold every character that a
document can: those it forbids (Char, section 2.2 of the XML 1.0 specification) are left out.
"""

import io
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gsum_assets.corpus.settings import CorpusError, corpus_name_problem
from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore, Partition

if TYPE_CHECKING:
    import networkx as nx

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BETWEEN = "; "  # ids joined to one text: GraphML knows no lists


def read_entity_graph(store: ParquetStore, corpus: str) -> "nx.Graph":
    """Return the entity graph of `corpus` as it is stored.

    Raises
    ------
    CorpusError
        If the corpus has no entities, or a table was written by another version.
    """
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus '{corpus}': {problem}")
    entities = _read(store, corpus, "graphrag.entities")
    if not entities.num_rows:
        raise CorpusError(f"corpus '{corpus}': extraction found no entities, nothing to export")
    relationships = _read(store, corpus, "graphrag.relationships")
    return entity_graph(entities, relationships, _read(store, corpus, "graphrag.communities"))


def entity_graph(entities: pa.Table, relationships: pa.Table, communities: pa.Table) -> "nx.Graph":
    """Return an undirected graph of plain attributes, from tables `graphrag.*` of one corpus.

    Nodes, by `entity_id`, have name, label (the name once more: what Gephi shows), type,
    description, degree, n_mentions, documents, and for each level L that they have a community in,
    its number and title: `community_L` and `community_L_title`. Edges have weight, strength,
    description, chunks and relationship_id. Order of rows does not matter; texts are without the
    characters that XML forbids.
    """
    import networkx as nx

    memberships = _memberships(communities)
    graph = nx.Graph()
    for row in sorted(entities.to_pylist(), key=lambda row: row["entity_id"]):
        attributes = {
            "name": row["name"],
            "label": row["name"],
            "type": row["type"],
            "description": row["description"],
            "degree": row["degree"],
            "n_mentions": row["n_mentions"],
            "documents": _BETWEEN.join(row["document_ids"]),
        }
        attributes |= memberships.get(row["entity_id"], {})
        graph.add_node(row["entity_id"], **_allowed(attributes))
    for row in sorted(relationships.to_pylist(), key=lambda row: row["relationship_id"]):
        attributes = {
            "relationship_id": row["relationship_id"],
            "weight": row["weight"],
            "strength": row["strength"],
            "description": row["description"],
            "chunks": _BETWEEN.join(row["chunk_ids"]),
        }
        graph.add_edge(row["source_id"], row["target_id"], **_allowed(attributes))
    return graph


def graphml(graph: "nx.Graph") -> bytes:
    """`graph` as a GraphML file, UTF-8: the same tables give the same bytes."""
    import networkx as nx

    file = io.BytesIO()
    # `write_graphml` takes lxml where that happens to be installed, whose bytes differ
    nx.write_graphml_xml(graph, file, edge_id_from_attribute="relationship_id")
    return file.getvalue()


def _read(store: ParquetStore, corpus: str, name: str) -> pa.Table:
    table = TABLES[name]
    rows, versions = store.read(table, [Partition(corpus)])
    if not versions:
        raise CorpusError(
            f"corpus '{corpus}' has no table '{name}' yet; "
            f"run `gsum run {corpus} --methods graphrag` first"
        )
    if missing := [column.name for column in table.columns if column.name not in rows.column_names]:
        raise CorpusError(
            f"corpus '{corpus}': table '{name}' has no column '{missing[0]}', another version of "
            f"gsum wrote it; run `gsum run {corpus}` first"
        )
    return rows


def _memberships(communities: pa.Table) -> dict[str, dict[str, Any]]:
    """Return attributes of each entity that say which communities it is in, coarsest level first."""
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(communities.to_pylist(), key=lambda row: row["number"]):
        for entity_id in row["entity_ids"]:
            community = found.setdefault(entity_id, {})
            community[f"community_{row['level']}"] = row["number"]
            community[f"community_{row['level']}_title"] = row["title"]
    return found


def _allowed(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the same without characters that XML forbids."""
    return {k: _FORBIDDEN.sub("", v) if isinstance(v, str) else v for k, v in attributes.items()}
