"""How much of a corpus is stale, in the units that requests to models grow with.

Nothing is written. Texts that are new are cut into passages, so that an edit counts as what it
changes; of a large new corpus the first part is, and the rest is estimated by it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.corpus.buckets import Buckets, size_of
from gsum_assets.corpus.chunk import Chunk, chunk_documents
from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.convert import Conversion
from gsum_assets.corpus.load import bucket_of, load_folder
from gsum_assets.corpus.observe import found
from gsum_assets.corpus.queries import Query, load_queries
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.staleness import Staleness, lineage_of
from gsum_assets.registry.declared import ORDERED, Declared
from gsum_assets.registry.families import METHODS
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import Partition, Provenance
from gsum_resources.store.partition import bucket_names
from gsum_resources.store.table import Table

_LISTING, _CHUNKS = TABLES["source_documents"], TABLES["chunks"]
_N_CRITERIA, _N_RATINGS = 6, 3  # of a pair; of one answer, of which references add two
_MOST_READ = 2**24  # bytes of new documents that are cut into passages
Work = Mapping[str, Mapping[Partition, bool]]
"""The stale files by asset, and whether all of their rows are stale or those of edits alone."""


@dataclass(frozen=True)
class FoundStaleness(Staleness):
    """What is stale in a corpus as its folder is now, which need not be observed before."""

    @cached_property
    def buckets(self) -> list[str]:
        """The names of the buckets that the corpus has, or will have."""
        folder = self.workspace.home.corpora / self.corpus
        return bucket_names(Buckets(self.workspace.store).needed(self.corpus, folder))

    @cached_property
    def listed(self) -> dict[Partition, pa.Table]:
        """The documents in the folder, by bucket."""
        return {file: rows for table, file, rows in self._found if table is _LISTING}

    @cached_property
    def _found(self) -> list[tuple[Table, Partition, pa.Table]]:
        folder = self.workspace.home.corpora / self.corpus
        return list(found(folder, self.corpus, len(self.buckets)))

    @cached_property
    def lineage(self) -> Lineage:
        """The lineage, as if a run had observed the folder."""
        lineage = lineage_of(self.workspace)
        for table, file, rows in self._found:
            footer = Provenance(content_hash(rows, table.ignored_by_hash), table.fingerprint)
            lineage.provenances(table.name, self.corpus)[file] = footer
        return lineage

    @cached_property
    def _section(self) -> Callable[[str], Any]:
        return self.workspace.sections(self.corpus)

    def setting(self, name: str) -> Any:
        """Return a value of `corpus.toml`: "gor.simulation.n_queries"."""
        section, _, key = name.rpartition(".")
        return self._section(section)[key] if "." in section else self._section(name)

    @cached_property
    def n_generated(self) -> int:
        """Number of questions that are generated, or will be at most."""
        stored = self.lineage.provenances("generated_questions", self.corpus).values()
        n_wanted = self._section("questions").get("n", 0) ** 3
        return sum(footer.rows for footer in stored) or n_wanted

    @cached_property
    def n_verdicts(self) -> int:
        """Number of requested verdicts: on pairs of answers in both orders, and ratings."""
        chosen = JudgesSettings.model_validate(self._section("judges"))
        n_methods, splits = len(METHODS.named(chosen.methods, "[judges] methods")), chosen.splits
        each = n_methods * (n_methods - 1) * (_N_CRITERIA if chosen.one_criterion_per_call else 1)
        each = each * chosen.pairwise + n_methods * _N_RATINGS * chosen.ratings
        asked = [q for q in self._questions if q.kind in chosen.kinds]
        judged = [q for q in asked if not splits or q.split in splits]
        return min(len(judged), chosen.max_questions) * each * chosen.repeats

    @cached_property
    def _questions(self) -> list[Query]:
        ids = {i for rows in self.listed.values() for i in rows["document_id"].to_pylist()}
        return load_queries(self.workspace.home.corpora / self.corpus, ids)[0]

    @cached_property
    def answered(self) -> list[str | None]:
        """The document of each question in the folder that methods answer; None: of all."""
        splits = self.setting("answer.splits")
        return [q.document_id for q in self._questions if not splits or q.split in splits]

    @property
    def n_questions(self) -> int:
        """Number of questions that methods answer."""
        return len(self.answered) + self.n_generated

    @cached_property
    def n_new_questions(self) -> int:
        """Number of questions in the folder that are in no table yet."""
        file = Partition(self.corpus)
        rows = self.workspace.store.read(TABLES["queries"], [file], ["query_id"])[0]
        return len({q.query_id for q in self._questions} - set(rows["query_id"].to_pylist()))

    @cached_property
    def has_questions(self) -> bool:
        """Whether the folder has or requests questions."""
        return bool(self._questions or self.n_generated)

    @cached_property
    def work(self) -> Work:
        """The stale files of each step, by asset, with those that depend on stale ones."""
        work: dict[str, dict[Partition, bool]] = {}
        for declared in ORDERED:
            if not declared.is_needed(self.methods):
                continue
            own, reached = set(self.stale(declared)), self._reached(declared, work)
            files: dict[Partition, bool] = {}
            for file in self.files(declared):
                near = [(b, m) for b in {file.bucket, None} for m in {file.method, None}]
                whole = [reached[key] for key in near if key in reached]
                whole += [self._is_whole(declared, file)] if file in own else []
                if whole:
                    files[file] = any(whole)
            if files:
                work |= dict.fromkeys(declared.assets, files)
        return work

    def _reached(self, declared: Declared, work: Work) -> dict[tuple, bool]:
        """Return what of the inputs of a step is stale, by the bucket and method it shares."""
        reached: dict[tuple, bool] = defaultdict(bool)
        left_out = {*declared.step.optional, *declared.step.untracked}
        names = declared.read_tables
        if declared.name == "queries":  # other texts leave its rows as they are
            names = ["generated_questions"] if self.n_generated else []
        for name in (name for name in names if name not in left_out):
            for file, is_whole in work.get("/".join(declared.path(name)), {}).items():
                shared = ("bucket", file.bucket), ("method", file.method)
                key = tuple(value if d in declared.level else None for d, value in shared)
                reached[key] |= is_whole
        return reached

    def _is_whole(self, declared: Declared, file: Partition) -> bool:
        """Return whether more than some documents changed: a setting, a model, the code."""
        keys = []
        for name in (declared.table(name).name for name in declared.step.writes):
            if not self.lineage.exists(name, file):
                return True
            keys += self.lineage.changes(name, file, declared.step.code_version)
        return any(InputKey.parse(key).kind not in ("table", "rows", "size") for key in keys)


class Passage(NamedTuple):
    """A passage that a run would find or cut.

    Attributes `n_like_it`: how many it stands for, if only a part of the new documents was read;
    `is_edited`: whether a passage of its document is new or gone.
    """

    bucket: str
    document_id: str
    n_tokens: int
    n_like_it: float = 1.0
    is_new: bool = False
    is_edited: bool = False


def passages_of(stale: FoundStaleness) -> tuple[list[Passage], set[str]]:
    """Return the passages that a run would find or cut, and what of the stored ones it changes.

    The second value has the ids of passages that go, and of the documents that are edited.
    """
    store, passages, changed = stale.workspace.store, list[Passage](), set[str]()
    stored: dict[str, dict[str, dict]] = defaultdict(dict)  # passages by text, by document
    unread: list[str] = []
    work = stale.work.get(_CHUNKS.name, {})
    for file, listed in stale.listed.items():
        columns = ["chunk_id", "document_id", "n_tokens", *(["text"] if file in work else [])]
        edited = _edited(stale, file, listed, work[file]) if file in work else set()
        unread += sorted(edited)
        present = set(listed["document_id"].to_pylist()) - edited
        for row in store.read(_CHUNKS, [file], columns)[0].to_pylist():
            if row["document_id"] in present:
                passages.append(Passage(file.bucket or "", row["document_id"], row["n_tokens"]))
            else:
                stored[row["document_id"]][row.get("text", "")] = row
    for chunks, n_like_it in _cut(stale, unread):
        document_id, gone = chunks[0].document_id, stored[chunks[0].document_id]
        is_new = [gone.pop(chunk.text, None) is None for chunk in chunks]
        bucket, is_edited = bucket_of(document_id, len(stale.buckets)), bool(gone) or any(is_new)
        if is_edited:
            changed.add(document_id)
        for chunk, new in zip(chunks, is_new, strict=True):
            passages.append(Passage(bucket, document_id, chunk.n_tokens, n_like_it, new, is_edited))
    for gone in stored.values():
        changed.update(row[key] for row in gone.values() for key in ("chunk_id", "document_id"))
    return passages, changed


def _edited(stale: FoundStaleness, file: Partition, listed: pa.Table, is_whole: bool) -> set[str]:
    """Return the documents of a bucket that are other ones than when it was last observed."""
    names = ["document_id", "content_hash"]
    pairs = set(zip(*(listed[name].to_pylist() for name in names), strict=True))
    earlier = stale.workspace.store.read(_LISTING, [file], names)[0]
    known = set(zip(*(earlier[name].to_pylist() for name in names), strict=True))
    is_known = pairs <= known and not known - pairs  # an interrupted run has observed it
    return {document_id for document_id, _ in (pairs if is_whole or is_known else pairs - known)}


def _cut(stale: FoundStaleness, ids: Sequence[str]) -> Iterator[tuple[list[Chunk], float]]:
    """Yield the passages of each document, and how many documents it stands for."""
    folder = stale.workspace.home.corpora / stale.corpus
    settings, n_bytes = load_settings(folder), size_of(folder)[1]
    n_all = sum(rows.num_rows for rows in stale.listed.values())
    n_read = min(len(ids), max(1, n_all * _MOST_READ // max(n_bytes, 1)))
    if ids:
        with Converter() as converter:
            conversion = Conversion(converter, stale.workspace.store, stale.corpus)
            documents = load_folder(folder, settings, conversion.convert, ids[:n_read]).documents
        texts = {document.document_id: document.text for document in documents}
        chunks = chunk_documents(texts, settings.chunking)
        for _, of_document in groupby(chunks, lambda chunk: chunk.document_id):
            yield list(of_document), len(ids) / n_read
