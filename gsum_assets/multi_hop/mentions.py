"""Sentences that name entities of the concept graph.

Extraction reads a chunk alone and may miss a name there, such as one word at the start of a
sentence. An entity that the graph has is therefore linked to every sentence that holds one of its
names.
"""

import pyarrow as pa

from gsum_assets.corpus.names import name_key, texts_holding
from gsum_resources.store.arrow import pc
from gsum_resources.text.sentences import read_sentences

_SCHEMA = pa.schema(
    [("chunk_id", pa.string()), ("position", pa.int32()), ("entity_id", pa.string())]
)


def entity_of_name(aliases: pa.Table) -> dict[str, str]:
    """Return the entity of each name_key of `graphrag.aliases`, without the pruned ones."""
    rows = aliases.filter(pc.is_valid(aliases["entity_id"]))
    columns = (rows[column].to_pylist() for column in ("name_key", "entity_id"))
    return dict(zip(*columns, strict=True))


def entity_mentions(chunks: pa.Table, aliases: pa.Table) -> pa.Table:
    """Return a row for each entity and each sentence of a chunk that holds one of its names.

    Parameters
    ----------
    chunks, aliases : rows of the tables `chunks` and `graphrag.aliases`.

    Returns
    -------
    pa.Table
        Columns `chunk_id`, `position` (of the sentence in the chunk, as in `evidence.sentences`)
        and `entity_id`, in the order of these.
    """
    entity_of = entity_of_name(aliases)
    places, keys = [], []
    for chunk_id, text in zip(
        chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True
    ):
        for position, sentence in enumerate(read_sentences([text])):
            places.append((chunk_id, position))
            keys.append(name_key(sentence.text))
    rows = {
        (*places[index], entity_of[key])
        for key, indices in texts_holding(entity_of.keys(), keys).items()
        for index in indices
    }
    columns = zip(*sorted(rows), strict=True) if rows else ((), (), ())
    return pa.table(dict(zip(_SCHEMA.names, map(list, columns), strict=True)), _SCHEMA)
