"""Removal of one document from its folder, all tables and memos, with a final search."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import FORMATS
from gsum_assets.corpus.find import find_corpus
from gsum_assets.corpus.folder import SKIPPED, copy_of, read_records
from gsum_assets.corpus.load import load_records
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.records import Record
from gsum_assets.corpus.table_files import is_table, records_of
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.forgetting.folder import take_out
from gsum_assets.forgetting.leftovers import Leftover, find_leftovers, sentences_of
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings, load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.forget import forget_deleted
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.families import FAMILIES, METHODS, trained_tables
from gsum_assets.runner.methods import owner
from gsum_assets.runner.report import Events, NoEvents, RunReport
from gsum_assets.runner.run import Pipeline, refresh
from gsum_resources.messages.progress import reporter
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.state.locks import locked_by
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

_WAIT_S = 2.0


@dataclass
class ForgetReport:
    """Report on a removed document: what was removed, and what could not be.

    Attributes
    ----------
    report : report of the run that recomputed everything else without it.
    problem : why that run failed; the tables that it left out of date were removed.
    removed : number of these partitions; the next run recomputes them.
    n_replies : number of removed replies of language models that depended on it.
    n_sentences : number of its sentences that were searched for afterwards.
    leftovers : files and databases that still contain one of these sentences.
    unsearched : storages of Dagster that cannot be searched.
    questions : ids of questions that name the document; they stay in the folder.
    trained : methods whose weights were trained when it existed, and are kept.
    """

    report: RunReport = field(default_factory=RunReport)
    problem: str | None = None
    removed: int = 0
    n_replies: int = 0
    n_sentences: int = 0
    leftovers: Sequence[Leftover] = ()
    unsearched: Sequence[str] = ()
    questions: Sequence[str] = ()
    trained: Sequence[str] = ()

    @property
    def is_clean(self) -> bool:
        """Whether everything was searched and nothing was found."""
        return not (self.leftovers or self.unsearched)


def forget(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    document_id: str,
    retrain: bool = False,
    events: Events | None = None,
) -> ForgetReport:
    """Remove a document from its corpus folder, and everything that depends on it from the home.

    Raise `CorpusError` if the corpus has no such document, or no other document.

    Parameter `retrain`: whether to retrain the networks that were trained with it.
    """
    text, others = _texts(pipeline, corpus, document_id)
    sentences = sentences_of(text, others)
    records = require_document(pipeline, corpus, document_id)
    folder = pipeline.home.corpora / corpus
    take_out(folder, load_settings(folder), records)
    done = ForgetReport(
        n_sentences=len(sentences), questions=_naming(pipeline, corpus, document_id)
    )
    models = models_with(pipeline.store, corpus, document_id)
    if retrain:
        for table, model in models:
            pipeline.store.delete(table, model)
    else:
        done.trained = [owner(table, model) for table, model in models]
    events = events or NoEvents()
    done.report = refresh(pipeline, instance, corpus, events=events, check_models=False)
    done.problem = next(iter(done.report.errors), None)
    done.removed = _remove_stale(pipeline, corpus)
    while Deletions(pipeline.store).observe(corpus).deleted:
        if run := locked_by(pipeline.store, corpus):
            events.waits(f"run {run} of the corpus")
            time.sleep(_WAIT_S)
        elif forgotten := forget_deleted(pipeline.workspace, at_once=True):
            done.n_replies += forgotten.n_replies
    _search(done, pipeline, instance, corpus, sentences)
    return done


def check_forgotten(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    document_id: str,
    original: Path,
) -> ForgetReport:
    """Search the home for sentences of a document that was deleted before; delete nothing.

    Raise `CorpusError` if the document is still in the corpus folder, the file cannot be read, or
    it has no sentence to search for.

    Parameter `original`: the document's file, or a file of records that has it, `documents.jsonl`.
    """
    folder = find_corpus(pipeline.home.corpora, corpus)
    settings = load_settings(folder)
    limits = settings.documents
    present = read_records(folder, limits.max_bytes, None, limits.columns)
    if any(record.document_id == document_id for record in present):
        raise CorpusError(
            f"document '{document_id}' is still in the folder of corpus '{corpus}'; delete it by "
            f"`gsum forget {corpus} {document_id}`, then check"
        )
    _, others = _texts(pipeline, corpus, document_id)
    sentences = sentences_of(_text_in(original, document_id, settings), others)
    if not sentences:
        raise CorpusError(
            f"{original}: no sentence of five words or more that no other document of corpus "
            f"'{corpus}' has, so nothing can be searched for; give the original of '{document_id}'"
        )
    done = ForgetReport(n_sentences=len(sentences))
    _search(done, pipeline, instance, corpus, sentences)
    return done


def _text_in(original: Path, document_id: str, settings: CorpusSettings) -> str:
    if is_table(original.name):
        limits, prefix = settings.documents, document_id.rpartition(":")[0] or document_id
        found = records_of(original, original.name, limits.max_bytes, limits.columns, prefix)
        records = [record for record in found if record.document_id == document_id]
    else:
        content, suffix = original.read_bytes(), original.suffix.lower()
        converter = suffix if suffix in FORMATS else ""
        text = None if converter else content
        name = original.name
        records = [Record(document_id, name, 0, content, text=text, converter=converter)]
    with Converter() as process:
        taken = load_records(records, settings, lambda r: process.convert(r.converter, r.content))
    if not taken.documents:
        reasons = [one.reason for one in taken.rejected] or [f"no document '{document_id}'"]
        raise CorpusError(f"{original}: {reasons[0]}")
    return taken.documents[0].text


def _search(
    done: ForgetReport,
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    sentences: Sequence[str],
) -> None:
    """Report in `done` where sentences are left, and which storages cannot be searched."""
    from gsum_resources.dagster_io.instance_storage import storage_of  # slow: migrations

    storage = storage_of(instance)
    on_file = reporter("searching all files", lambda _: None)
    done.leftovers = find_leftovers(pipeline.home, corpus, sentences, storage, on_file)
    done.unsearched = storage.unknown


def _texts(pipeline: Pipeline, corpus: str, document_id: str) -> tuple[str, list[str]]:
    """Return the stored text of the document, and those of the other documents."""
    table = TABLES["documents"]
    rows, _ = pipeline.store.read(table, pipeline.store.partitions(table, corpus))
    texts = dict(zip(rows["document_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
    return texts.pop(document_id, ""), list(texts.values())


def require_document(pipeline: Pipeline, corpus: str, document_id: str) -> Sequence[Record]:
    """Return the records of a document in its folder and of its copies, if it can be forgotten.

    A document that is already deleted from the folder is no error: tables may still contain it.
    Raise `CorpusError` if there is no such corpus, or it has no such document, or no other
    document.
    """
    folder = find_corpus(pipeline.home.corpora, corpus)
    settings = load_settings(folder)
    limits = settings.documents
    records = list(read_records(folder, limits.max_bytes, None, limits.columns))
    found = [record for record in records if record.document_id == document_id]
    copies = {SKIPPED + copy_of(record.file) for record in found}
    found += [record for record in records if record.problem in copies]
    observed = Deletions(pipeline.store).observe(corpus)
    if not found and document_id not in {*observed.documents, *observed.deleted}:
        known = sorted({record.document_id for record in records})
        raise CorpusError(
            f"corpus '{corpus}' has no document '{document_id}'{did_you_mean(document_id, known)}"
        )
    if len(found) == len(records):
        raise CorpusError(
            f"'{document_id}' is the only document of corpus '{corpus}'; delete the folder "
            f"{folder}, and the next `gsum run` of any corpus, or the daemon, removes the rest"
        )
    return found


def models_with(
    store: ParquetStore, corpus: str, document_id: str
) -> list[tuple[Table, Partition]]:
    """Return the models that may have learnt from a document, also under an earlier name."""
    documents = TABLES["documents"]
    rows, _ = store.read(documents, store.partitions(documents, corpus), ["document_id"])
    others = {learnt_hash(other) for other in rows["document_id"].to_pylist()}
    others.discard(learnt_hash(document_id))
    found = []
    for table in trained_tables():
        for model in store.partitions(table, corpus):
            rows, _ = store.read(table, [model], ["learnt_from"])
            if any(set(hashes) - others for hashes in rows["learnt_from"].to_pylist()):
                found.append((table, model))
    return found


def _naming(pipeline: Pipeline, corpus: str, document_id: str) -> list[str]:
    file = pipeline.home.corpora / corpus / QUERIES_FILE
    if not file.is_file():
        return []
    named = json.dumps(document_id)
    found = []
    for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1):
        if named in line:
            try:
                found.append(str(json.loads(line)["query_id"]))
            except (ValueError, TypeError, KeyError):
                found.append(f"line {number}")
    return found


def _remove_stale(pipeline: Pipeline, corpus: str) -> int:
    """Delete files that are stale or of no kept method: they may still contain the document."""
    methods = METHODS.wanted(pipeline.home.corpora, corpus)
    staleness = Staleness(pipeline.workspace, corpus, frozenset(methods))
    due = {declared.name for declared in staleness.due()}
    known = {name for family in FAMILIES for name in family.methods}
    n = 0
    for declared in STEPS:
        stale = set(staleness.stale(declared)) if declared.name in due else set()
        needed = set(staleness.files(declared))
        for name in declared.step.writes:
            table = declared.table(name)
            for file in pipeline.store.partitions(table, corpus):
                is_own = file.method in {None, *declared.methods} or file.method not in known
                if is_own and (file in stale or file not in needed):
                    pipeline.store.delete(table, file)
                    n += 1
    return n
