"""Names that may be of several entities, since their contexts have nothing in common (ours)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.graphrag.entity_names import Name
from gsum_resources.store.arrow import pc

_MOST_DOCUMENTS = 50  # a name in more of them is common knowledge


def mark_contexts(names: Mapping[str, Name]) -> None:
    """Set the `contexts` of names: groups of documents of which no two have a common neighbour.

    Neighbours are names in the same chunks without a common word; a document without any says
    nothing. Names in lower case are not judged.
    """
    from scipy.cluster.hierarchy import DisjointSet

    names_in: dict[str, list[str]] = defaultdict(list)
    for key, name in names.items():
        for chunk_id in name.chunks:
            names_in[chunk_id].append(key)
    for name in names.values():
        if name.name.islower() or not 1 < len(name.documents) <= _MOST_DOCUMENTS:
            continue
        words, groups, first_with = set(name.bare_key.split()), DisjointSet(), {}
        for document, chunks in name.chunks_by_document.items():
            near = {other for chunk_id in chunks for other in names_in[chunk_id]}
            for other in near:
                if words.isdisjoint(other.split()):
                    groups.add(document)
                    groups.merge(document, first_with.setdefault(other, document))
        if groups.n_subsets > 1:
            name.contexts = sorted(groups.subsets(), key=min)


def names_apart(question: str, aliases: pa.Table) -> dict[str, Sequence[str]]:
    """Return names of a question that may be several, with a document of each, from `aliases`."""
    if "apart_document_ids" not in aliases.column_names:
        return {}  # not run since an upgrade
    asked = name_key(question)
    is_apart = pc.greater(pc.list_value_length(aliases["apart_document_ids"]), 0)
    return {
        row["name"]: row["apart_document_ids"]
        for row in aliases.filter(is_apart).to_pylist()
        if holds(asked, row["name_key"].partition(" [")[0])
    }
