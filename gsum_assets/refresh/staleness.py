"""The files that a corpus needs of each step, and which of them are stale.

A file is *stale* when it is missing, when an input, a setting, a model or the code has changed
since it was written, or when rows are missing in it because a model gave no valid reply. All of
this is read from the footers of the files at one moment; there is no state that a killed run or a
second process could leave wrong.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.corpus import observe
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.queries import may_have_questions
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.corpus_settings import CorpusError, load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import ORDERED, Declared, work_of
from gsum_assets.registry.families import METHODS
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.partition import bucket_names
from gsum_resources.store.table import Table


def lineage_of(workspace: Workspace) -> Lineage:
    """Return the lineage of a home at this moment: it reads each corpus's settings once."""
    sections = {}

    def version(key: InputKey) -> str | None:
        if key.kind == "model":
            name = work_of(key.asset) if key.name == "language_model" else key.name
            return workspace.models.version(name)
        corpus = key.corpus or ""
        try:
            if corpus not in sections:
                sections[corpus] = workspace.sections(corpus)
        except CorpusError:  # whoever refreshes that corpus reports it
            return None
        try:
            return section_version(sections[corpus](key.name))
        except CorpusError:
            return "wrong"  # so that the readers of the section are stale, and fail with the reason

    return Lineage(workspace.store, TABLES, version, METHODS.families)


@dataclass(frozen=True)
class Staleness:
    """What is stale in a corpus at one moment.

    Parameter `methods`: the methods that are kept up to date, see `Methods.wanted`.
    """

    workspace: Workspace
    corpus: str
    methods: frozenset[str]

    @cached_property
    def lineage(self) -> Lineage:
        """The lineage, read once."""
        return lineage_of(self.workspace)

    @cached_property
    def buckets(self) -> list[str]:
        """The names of the corpus's buckets."""
        return bucket_names(Buckets(self.workspace.store).of(self.corpus))

    @cached_property
    def has_questions(self) -> bool:
        """Whether the table of questions has a row; it is written before what needs it."""
        footers = self.lineage.provenances("queries", self.corpus).values()
        return any(footer.rows for footer in footers)

    @cached_property
    def expects_questions(self) -> bool:
        """Whether there are questions, or a run will find or generate some."""
        folder = self.workspace.home.corpora / self.corpus
        return self.has_questions or may_have_questions(folder, load_settings(folder))

    def files(self, declared: Declared) -> list[Partition]:
        """Return the partitions that the corpus needs of a step's tables, in order.

        Results stay when the last question is removed: they are computed again and become empty.
        """
        if not declared.is_needed(self.methods):
            return []
        files = [Partition(self.corpus)]
        if declared.level == DOCUMENT_LEVEL:
            files = [Partition(self.corpus, bucket) for bucket in self.buckets]
        elif declared.level == RESULT:
            needed = [method for method in declared.methods if method in self.methods]
            files = [Partition(self.corpus, method=method) for method in needed]
        if declared.for_questions and not self.has_questions:
            table = declared.table(declared.step.table).name
            files = [file for file in files if self.lineage.exists(table, file)]
        return files

    def stale(self, declared: Declared, retrain: Collection[str] = ()) -> list[Partition]:
        """Return those of `files` that some table of the step lacks, or that are stale in it.

        Parameter `retrain`: methods or families whose networks are trained again, "all": of every
        one.
        """
        tables = [declared.table(name) for name in declared.step.writes]
        code = declared.step.code_version
        return [
            file
            for file in self.files(declared)
            if (
                declared.step.trains
                and not {"all", file.method or declared.group}.isdisjoint(retrain)
            )
            or any(self._is_stale(table, file, code) for table in tables)
        ]

    def lacks_inputs(self, declared: Declared, file: Partition) -> bool:
        """Return whether a step has written no results yet that those of a method are made from."""
        tables = [declared.table(name) for name in declared.read_tables]
        return any(
            table.dimensions == declared.level == RESULT
            and not self.lineage.exists(table.name, file)
            for table in tables
        )

    def _is_stale(self, table: Table, file: Partition, code_version: str) -> bool:
        footer = self.lineage.provenances(table.name, file.corpus).get(file)
        if footer is None or footer.failed:
            return True
        return bool(self.lineage.changes(table.name, file, code_version))

    def current_results(self) -> list[str]:
        """Return the assets of results by method that the corpus needs and that are up to date."""
        return [
            asset
            for declared in ORDERED
            if declared.level == RESULT and self.files(declared) and not self.stale(declared)
            for asset in declared.assets
        ]

    def due(self, retrain: Collection[str] = ()) -> list[Declared]:
        """Return the steps that have a stale file, or depend on one that has, in order.

        Parameter `retrain`: see `stale`.
        """
        changed: set[str] = set()
        due = []
        for declared in ORDERED:
            if not declared.is_needed(self.methods):
                continue
            if declared.for_questions and not self.expects_questions:
                continue
            if changed.intersection(declared.read_assets) or self.stale(declared, retrain):
                changed.update(declared.assets)
                due.append(declared)
        return due


def staleness_of(workspace: Workspace, corpus: str) -> Staleness:
    """Return what is stale now, of the methods that a corpus keeps up to date.

    Raise `CorpusError` if the corpus cannot be read.
    """
    methods = METHODS.wanted(workspace.home.corpora, corpus)
    return Staleness(workspace, corpus, frozenset(methods))


def needs_run(workspace: Workspace, corpus: str) -> bool:
    """Return whether a run would do something: the folder has changed, or something is stale.

    Raise `CorpusError` if the corpus cannot be read.
    """
    home = workspace.home
    if home.settings() != workspace.models.settings:  # they have changed since it was opened
        workspace = open_workspace(home, store=workspace.store)
    if observe.has_changed(workspace.store, home.corpora, corpus):
        return True
    return bool(staleness_of(workspace, corpus).due())


def possible(
    due: Iterable[Declared],
    failed: Collection[str],
    partly: Collection[str] = (),
    current: Collection[str] = (),
) -> list[Declared]:
    """Return those of some ordered steps that can be computed although others have failed.

    A step that aggregates all methods reads those that are there.

    Parameters
    ----------
    failed : names of the failed steps.
    partly : those of them that wrote some methods, whose other steps can be computed.
    current : assets of results that are up to date.
    """
    without, results = set[str](), {*current}
    left = []
    for declared in due:
        read = {*declared.read_assets}
        is_blocked = bool(read & without)
        if declared.step.aggregates_methods:
            is_blocked = bool(read & results) and read & results <= without
        if declared.level == RESULT:
            results.update(declared.assets)
        if declared.name in partly:
            continue
        if declared.name in failed or is_blocked:
            without.update(declared.assets)
        else:
            left.append(declared)
    return left


def with_methods(workspace: Workspace, corpus: str, names: Collection[str]) -> list[str]:
    """Return the methods that a run would keep up to date if some more are named.

    Raise `CorpusError` if the corpus cannot be read, or a method is unknown.

    Parameter `names`: of methods and families, "default" and "all". Before its first run a corpus
    keeps these alone, later those of before, too.
    """
    root = workspace.home.corpora
    before = METHODS.wanted(root, corpus)
    if not names:
        return before
    added = METHODS.wanted(root, corpus, names)
    is_new = not workspace.store.partitions(TABLES["documents"], corpus)
    is_set = load_settings(root / corpus).methods is not None
    return added if is_new and not is_set else list(dict.fromkeys([*before, *added]))
