"""Taking a corpus folder in, and forgetting it: one rule for the sensor and the command line."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gsum_assets.automation.currency import Requests
from gsum_assets.corpus.load import require_documents
from gsum_assets.corpus.settings import CorpusError, corpus_name_problem, load_settings
from gsum_resources.warehouse_io import WarehouseIO

LEDGERS = ("llm_calls", "embedding_calls")


@dataclass(frozen=True)
class Methods:
    """The variants of all families, those that a new corpus starts, and those of each family."""

    known: Sequence[str]
    default: Sequence[str]
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def wanted(self, root: Path, corpus: str, names: Collection[str] = ("default",)) -> list[str]:
        """The variants that `names` stand for, if a corpus can be taken in.

        Parameters
        ----------
        root : the folder of all corpora.
        names : variants; a family's name, unless a variant has it, stands for all of its variants,
            "default" for those that `corpus.toml` names, or else the defaults of each family,
            "all" for every one.

        Raises
        ------
        CorpusError
            If the corpus cannot be read, or a method is unknown.
        """
        problem = corpus_name_problem(corpus)
        if corpus and Path(corpus).is_dir() and (problem or not (root / corpus).exists()):
            raise CorpusError(
                f"'{corpus}' is a folder and no corpus yet: run `gsum init '{corpus}'` first"
            )
        if problem:
            raise CorpusError(f"corpus '{corpus}': {problem}")
        folder = root / corpus
        settings = load_settings(folder)
        require_documents(folder, settings)
        defaults = settings.methods or self.default
        groups = {"default": defaults, "all": self.known}
        named = [one for name in names for one in groups.get(name, [name])]
        wanted = [variant for name in named for variant in self._variants(name)]
        unknown = sorted(set(wanted) - set(self.known))
        if unknown:
            raise CorpusError(
                f"corpus '{corpus}': unknown methods {', '.join(unknown)}; "
                f"choose from {', '.join(self.known)}"
            )
        return wanted

    def _variants(self, name: str) -> Sequence[str]:
        return [name] if name in self.known else self.families.get(name, [name])


def forget_tables(warehouse: WarehouseIO, requests: Requests, corpus: str) -> None:
    """Remove a corpus's files and what was asked for; its partitions are Dagster's to remove.

    The ledgers stay until what they tell of is forgotten, too (`forget.py`).
    """
    store = warehouse.store
    for table in warehouse.tables.values():
        if table.name in LEDGERS:
            continue
        folder = f"{store.root}/{table.name}/corpus={corpus}"
        if store.fs.exists(folder):
            store.fs.rm(folder, recursive=True)
    requests.forget(corpus)
    warehouse.rebuild_catalogue()
