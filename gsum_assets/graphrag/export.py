"""Export of the entity graph as GraphML, for Gephi, networkx, yEd and other programs."""

import io
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gsum_assets.pipeline.corpus_settings import CorpusError, corpus_name_problem
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition

if TYPE_CHECKING:
    import networkx as nx

# in XML 1.0 (section 2.2, Char)
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BETWEEN = "; "  # separator of ids, since GraphML has no lists
_OF_ENTITY = ("name", "type", "description", "degree", "n_mentions")
_OF_RELATIONSHIP = ("relationship_id", "weight", "strength", "description")


def read_entity_graph(store: ParquetStore, corpus: str) -> "nx.Graph":
    """Return the stored entity graph of `corpus`; raise CorpusError if there is none."""
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus '{corpus}': {problem}")
    entities = _read(store, corpus, "graphrag.entities")
    if not entities.num_rows:
        raise CorpusError(f"corpus '{corpus}': extraction found no entities, nothing to export")
    names = ("graphrag.relationships", "graphrag.communities")
    return entity_graph(entities, *(_read(store, corpus, name) for name in names))


def entity_graph(entities: pa.Table, relationships: pa.Table, communities: pa.Table) -> "nx.Graph":
    """Return an undirected graph with scalar attributes, from tables `graphrag.*` of one corpus.

    Nodes have their columns, a label (the name, for Gephi), and for each level L `community_L` and
    `community_L_title`.
    """
    import networkx as nx

    memberships: dict[str, dict[str, Any]] = {}
    for row in communities.sort_by("number").to_pylist():
        for entity_id in row["entity_ids"]:
            community = memberships.setdefault(entity_id, {})
            community[f"community_{row['level']}"] = row["number"]
            community[f"community_{row['level']}_title"] = row["title"]
    graph = nx.Graph()
    for row in entities.sort_by("entity_id").to_pylist():
        attributes = {"label": row["name"], **{name: row[name] for name in _OF_ENTITY}}
        attributes["documents"] = _BETWEEN.join(row["document_ids"])
        attributes |= memberships.get(row["entity_id"], {})
        graph.add_node(row["entity_id"], **_allowed(attributes))
    for row in relationships.sort_by("relationship_id").to_pylist():
        attributes = {name: row[name] for name in _OF_RELATIONSHIP}
        attributes["chunks"] = _BETWEEN.join(row["chunk_ids"])
        graph.add_edge(row["source_id"], row["target_id"], **_allowed(attributes))
    return graph


def graphml(graph: "nx.Graph") -> bytes:
    """Return `graph` as a GraphML file in UTF-8; equal tables give equal bytes."""
    import networkx as nx

    file = io.BytesIO()
    # `write_graphml` uses lxml if it is installed, whose bytes differ
    nx.write_graphml_xml(graph, file, edge_id_from_attribute="relationship_id")
    return file.getvalue()


def _read(store: ParquetStore, corpus: str, name: str) -> pa.Table:
    rows, versions = store.read(TABLES[name], [Partition(corpus)])
    if not versions or not set(TABLES[name].schema.names) <= set(rows.column_names):
        lacks = f"table '{name}' of this version of gsum"
        raise CorpusError(
            f"corpus '{corpus}' has no {lacks}; run `gsum run {corpus} --methods graphrag` first"
        )
    return rows


def _allowed(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes without characters that XML forbids."""
    return {k: _FORBIDDEN.sub("", v) if isinstance(v, str) else v for k, v in attributes.items()}
