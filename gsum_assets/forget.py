"""Forgets one document at once: from its folder, every table, memo and log, and proves it."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.automation.retrain import TRAINED
from gsum_assets.corpus.find import find_corpus
from gsum_assets.corpus.folder import read_records
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.records import Record
from gsum_assets.corpus.settings import CorpusError, load_settings
from gsum_assets.definitions import Pipeline
from gsum_assets.execute import OnStart, RunResult
from gsum_assets.forgetting.folder import take_out
from gsum_assets.forgetting.leftovers import Leftover, find_leftovers, sentences_of
from gsum_assets.processes import waited_for
from gsum_assets.run import OnStep, RunReport, refresh
from gsum_assets.tables import TABLES, table_of
from gsum_resources.parquet_store import Partition
from gsum_resources.suggest import did_you_mean

_WAIT_S = 2.0
_MODEL = table_of(TRAINED[0].path)


@dataclass
class ForgetReport:
    """What was done to forget a document, and what could not be.

    Attributes
    ----------
    report : of the run that made everything else without it.
    problem : why that run did not end well; the tables that it left out of date were removed.
    removed : how many partitions these were; the next run makes them again.
    n_replies : replies of language models that rested on it.
    n_sentences : that were searched for in the end.
    traces : files that still hold one.
    questions : ids of questions that name the document; they stay in the folder.
    trained : methods whose weights were trained while it was there, and stay.
    """

    report: RunReport = field(default_factory=RunReport)
    problem: str | None = None
    removed: int = 0
    n_replies: int = 0
    n_sentences: int = 0
    leftovers: Sequence[Leftover] = ()
    questions: Sequence[str] = ()
    trained: Sequence[str] = ()


def forget(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    document_id: str,
    retrain: bool = False,
    on_start: OnStart = lambda *_: None,
    on_end: Callable[[RunResult], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
    on_step: OnStep = lambda *_: None,
) -> ForgetReport:
    """Remove a document from its corpus folder and everything that rests on it from the home.

    Parameters
    ----------
    retrain : train the networks anew that were trained with it.
    on_start, on_made, on_wait, on_step : as `drive` calls them.

    Raises
    ------
    CorpusError
        If the corpus has no such document, or no other one.
    """
    text, others = _texts(pipeline, corpus, document_id)
    sentences = sentences_of(text, others)
    _remove(pipeline, corpus, document_id)
    done = ForgetReport(
        n_sentences=len(sentences), questions=_naming(pipeline, corpus, document_id)
    )
    models = pipeline.store.partitions(_MODEL, corpus)
    if retrain:
        for model in models:
            pipeline.store.delete(_MODEL, model)
    else:
        done.trained = [str(model.method) for model in models]
    watch = on_start, on_end, on_wait
    done.report = refresh(
        pipeline, instance, corpus, [], *watch, check_models=False, on_step=on_step
    )
    done.problem = next(iter(done.report.errors), None)
    done.removed = _remove_stale(pipeline, instance, corpus)
    while pipeline.forgetting.deletions.observe(corpus).gone:
        forgotten = pipeline.forgetting.forget_deleted(instance, at_once=True)
        if forgotten is None:
            on_wait(waited_for(instance, [run.run_id for run in instance.get_runs(limit=1)]))
            time.sleep(_WAIT_S)
            continue
        done.n_replies += forgotten.n_replies
    done.leftovers = find_leftovers(pipeline.home, corpus, sentences)
    return done


def _texts(pipeline: Pipeline, corpus: str, document_id: str) -> tuple[str, list[str]]:
    """The text of the document as it was taken in, and those of the others."""
    table = TABLES["documents"]
    rows, _ = pipeline.store.read(table, pipeline.store.partitions(table, corpus))
    texts = dict(zip(rows["document_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
    return texts.pop(document_id, ""), list(texts.values())


def require_document(pipeline: Pipeline, corpus: str, document_id: str) -> Sequence[Record]:
    """Return where a document lies in its folder, if it can be forgotten.

    One that has gone from the folder already is no error: it may still be in tables.

    Raises
    ------
    CorpusError
        If there is no such corpus, or it has no such document, or no other one.
    """
    folder = find_corpus(pipeline.home.corpora, corpus)
    settings = load_settings(folder)
    records = list(read_records(folder, settings.documents.max_bytes))
    places = [record for record in records if record.document_id == document_id]
    deleted = pipeline.forgetting.deletions.observe(corpus)
    if not places and document_id not in {*deleted.documents, *deleted.gone}:
        known = sorted({record.document_id for record in records})
        raise CorpusError(
            f"corpus '{corpus}' has no document '{document_id}'{did_you_mean(document_id, known)}"
        )
    if len(places) == len(records):
        raise CorpusError(
            f"corpus '{corpus}' has no document but '{document_id}'; remove the folder {folder}, "
            "and the next `gsum run` of any corpus, or the daemon, forgets it all"
        )
    return places


def _remove(pipeline: Pipeline, corpus: str, document_id: str) -> None:
    """Take the document out of the corpus folder."""
    places = require_document(pipeline, corpus, document_id)
    folder = pipeline.home.corpora / corpus
    take_out(folder, load_settings(folder), places)


def _naming(pipeline: Pipeline, corpus: str, document_id: str) -> list[str]:
    """Questions in the folder that name the document."""
    file = pipeline.home.corpora / corpus / QUERIES_FILE
    if not file.is_file():
        return []
    named = json.dumps(document_id)
    lines = file.read_text("utf-8", "replace").splitlines()
    return [_query_id(line, n) for n, line in enumerate(lines, start=1) if named in line]


def _query_id(line: str, number: int) -> str:
    try:
        return str(json.loads(line)["query_id"])
    except (ValueError, TypeError, KeyError):
        return f"line {number}"


def _remove_stale(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> int:
    """Remove what could not be made anew, and so may still hold the document."""
    snapshot = pipeline.new_snapshot(instance)
    stale: list[tuple[dg.AssetKey, Partition]] = [
        (key, partition)
        for key in snapshot.nodes
        for partition in snapshot.unsettled(key, corpus)
        if snapshot.lineage.exists(snapshot.nodes[key].table.name, partition)
    ]
    for key, partition in stale:
        pipeline.store.delete(snapshot.nodes[key].table, partition)
    return len(stale)
