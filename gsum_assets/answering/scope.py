"""The documents that a question is asked about: one, those that fulfil a condition, or all."""

from collections.abc import Mapping
from dataclasses import replace

from gsum_assets.corpus.document_names import file_stem
from gsum_assets.corpus.where import COLUMNS, documents_where
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import Inputs
from gsum_assets.registry.families import FAMILIES
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.store.lazy import Lazy, restricted_to

_MOST_NAMED = 5


class NoDocumentError(CorpusError):
    """Error for a condition that no document of a corpus fulfils."""


def restricted(family: Family, inputs: Inputs, where: str) -> Inputs:
    """Return inputs whose tables have rows of the documents alone that fulfil a condition.

    They have no store: indexes of some documents do not replace those that are kept of all. Raise
    `CorpusError` if the method cannot be restricted or the condition is wrong, `NoDocumentError` if
    no document fulfils it.
    """
    require_filter(family, inputs.method)
    ids = matching(inputs.tables["documents"], where, inputs.corpus)
    if not ids:
        raise NoDocumentError(f"no document of corpus '{inputs.corpus}' fulfils: {where}")
    restricted = {
        name: restricted_to(inputs.tables[name], "document_id", ids)
        for name in family.read_by_questions
        if "document_id" in family.table(name).schema.names
    }
    return replace(inputs, tables={**inputs.tables, **restricted}, store=None)


def matching(documents: Lazy, where: str, corpus: str) -> list[str]:
    """Return the ids of the documents that fulfil a condition, see `documents_where`."""
    try:
        rows = documents.columns(COLUMNS)
    except KeyError as error:
        raise CorpusError(
            f"corpus '{corpus}' was indexed before documents had metadata; run `gsum run {corpus}` "
            "first"
        ) from error
    return documents_where(rows, where)


def require_filter(family: Family, method: str) -> None:
    """Raise `CorpusError` unless a method can answer from some documents of a corpus."""
    if method not in family.filtered:
        able = ", ".join(name for other in FAMILIES for name in other.filtered)
        raise CorpusError(
            f"method '{method}' reads what was written from all documents, and cannot be "
            f"restricted to some; leave the condition out, or use one of: {able}"
        )


def titles_in(documents: Lazy) -> dict[str, str]:
    """Return the titles of the table `documents` by id."""
    rows = documents.columns(["document_id", "title"])
    return dict(zip(rows["document_id"].to_pylist(), rows["title"].to_pylist(), strict=True))


def find_document(name: str, titles: Mapping[str, str], corpus: str) -> str:
    """Return the id of the document that an id, a title or the name of a file names.

    Raise `CorpusError` if there is no such document, or several have the name.
    """
    if name in titles:
        return name
    wanted = name.strip().casefold()
    ids = [i for i, t in titles.items() if wanted in (t.casefold(), file_stem(i).casefold())]
    if len(ids) == 1:
        return ids[0]
    if ids:
        shown = ", ".join(f"'{document_id}'" for document_id in sorted(ids)[:_MOST_NAMED])
        raise CorpusError(
            f"corpus '{corpus}' has {len(ids)} documents with the name '{name}'; name one by its "
            f"id: {shown}{', …' if len(ids) > _MOST_NAMED else ''}"
        )
    known = sorted({*titles, *titles.values()})
    raise CorpusError(f"corpus '{corpus}' has no document '{name}'{did_you_mean(name, known)}")
