"""Methods of a new corpus and removal of a deleted one, for the sensor and the command line."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gsum_assets.automation.staleness import Requests
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.find import find_corpus
from gsum_assets.corpus.load import require_documents
from gsum_assets.corpus.queries import may_have_questions
from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, CorpusError, load_settings
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.store.array_cache import forget_arrays

LEDGERS = ("llm_calls", "embedding_calls")


@dataclass(frozen=True)
class Methods:
    """The variants of all families, the defaults of a new corpus, and the variants by family.

    `default` are the defaults of a corpus with questions: they finish in a minute for 100 pages.
    """

    known: Sequence[str]
    default: Sequence[str]
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without_questions: Sequence[str] = ()

    def wanted(self, root: Path, corpus: str, names: Collection[str] = ("default",)) -> list[str]:
        """Return the variants that `names` stand for, if a corpus can be read.

        Parameters
        ----------
        root : the folder of all corpora.
        names : variants; a family's name, unless a variant has it, stands for all of its variants,
            "default" for those that `corpus.toml` names, or else the defaults of a corpus with or
            without questions, "all" for every variant.

        Raises
        ------
        CorpusError
            If the corpus cannot be read, or a method in `names` or `corpus.toml` is unknown.
        """
        folder = find_corpus(root, corpus)
        settings = load_settings(folder)
        require_documents(folder, settings)
        defaults = self._checked(settings.methods or (), f"{folder / SETTINGS_FILE}: methods")
        if not defaults:
            has_questions = may_have_questions(folder, settings)
            defaults = list(self.default if has_questions else self.without_questions)
        groups = {"default": defaults, "all": self.known}
        named = [variant for name in names for variant in groups.get(name, [name])]
        return self._checked(named, f"corpus '{corpus}'", groups)

    def _checked(
        self, names: Collection[str], where: str, groups: Collection[str] = ()
    ) -> list[str]:
        """Return the variants that names of variants and families stand for."""
        known = (*self.known, *(f for f in self.families if f not in self.known))
        unknown = [
            f"unknown method '{name}'{did_you_mean(name, (*known, *groups))}"
            for name in names
            if name not in known
        ]
        if unknown:
            raise CorpusError(f"{where}: {'; '.join(unknown)}")
        return [variant for name in names for variant in self._variants(name)]

    def _variants(self, name: str) -> Sequence[str]:
        return [name] if name in self.known else self.families[name]


def forget_tables(warehouse: WarehouseIO, requests: Requests, corpus: str) -> None:
    """Remove a corpus's files and requests; the caller removes its Dagster partitions.

    The ledgers are kept until `forget.py` has removed the replies that they list.
    """
    store = warehouse.store
    for table in warehouse.tables.values():
        if table.name in LEDGERS:
            continue
        folder = f"{store.root}/{table.name}/corpus={corpus}"
        if store.fs.exists(folder):
            store.fs.rm(folder, recursive=True)
    forget_arrays(store, corpus)
    requests.forget(corpus)
    Buckets(store).forget(corpus)
    warehouse.rebuild_catalogue()
