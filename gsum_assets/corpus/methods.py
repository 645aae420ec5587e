"""The names of methods that people type, and which methods they stand for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gsum_assets.corpus.find import find_corpus
from gsum_assets.corpus.load import require_documents
from gsum_assets.corpus.queries import may_have_questions
from gsum_assets.pipeline.corpus_settings import CorpusError, load_settings, settings_file
from gsum_assets.pipeline.family import Family
from gsum_resources.messages.suggest import did_you_mean


@dataclass(frozen=True)
class Methods:
    """All methods by name; the only place where a name is looked up.

    A family's name, unless a method has it, stands for its methods without those of studies.
    """

    declared: Sequence[Family]
    without_questions: Sequence[str] = ()

    @cached_property
    def known(self) -> Sequence[str]:
        """All methods."""
        return [name for family in self.declared for name in family.methods]

    @cached_property
    def listed(self) -> Sequence[str]:
        """All methods without those of studies."""
        return [name for family in self.declared for name in family.listed]

    @cached_property
    def default(self) -> Sequence[str]:
        """Methods of a new corpus with questions: they finish in a minute for 100 pages.

        Five QMSum train meetings (50,237 words) took 32 s on 2 cores, from folder to leaderboard.
        """
        return [name for family in self.declared for name in family.default]

    @cached_property
    def families(self) -> Mapping[str, Sequence[str]]:
        """The methods of each family."""
        return {family.name: family.methods for family in self.declared}

    def family_of(self, method: str) -> Family:
        """Return the family that a method belongs to; raise `CorpusError` if there is none."""
        for family in self.declared:
            if method in family.methods:
                return family
        if method in self.families:
            methods = ", ".join(self._groups[method])
            raise CorpusError(f"'{method}' is a family of methods; choose one of {methods}")
        raise CorpusError(self._unknown(method, self.known))

    def named(
        self,
        names: Collection[str],
        where: str,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> list[str]:
        """Return the methods that names of methods, families and `groups` stand for.

        Raises `CorpusError` if a name is unknown: `where` it is from, and the nearest ones.
        """
        methods_of = {**self._groups, **{name: [name] for name in self.known}, **(groups or {})}
        known = dict.fromkeys((*self.known, *methods_of))  # in the order of a suggestion
        if unknown := [self._unknown(name, known) for name in names if name not in known]:
            raise CorpusError(f"{where}: {'; '.join(unknown)}")
        return [method for name in names for method in methods_of[name]]

    def wanted(self, root: Path, corpus: str, names: Collection[str] = ("default",)) -> list[str]:
        """Return the methods that `names` of methods and families stand for.

        "default" stands for the methods that `corpus.toml` names, or else the defaults of a corpus
        with or without questions, "all" for every method but those of studies. Raises
        `CorpusError` if the corpus cannot be read, or a method is unknown.
        """
        folder = find_corpus(root, corpus)
        settings = load_settings(folder)
        require_documents(folder, settings)
        default = self.named(settings.methods or (), f"{settings_file(folder)}: methods")
        if settings.methods is None:
            has_questions = may_have_questions(folder, settings)
            default = list(self.default if has_questions else self.without_questions)
        groups = {"default": default, "all": self.listed}
        return self.named(names, f"corpus '{corpus}'", groups)

    @cached_property
    def _groups(self) -> Mapping[str, Sequence[str]]:
        return {family.name: family.listed for family in self.declared}

    def _unknown(self, name: str, known: Collection[str]) -> str:
        return f"unknown method '{name}'{did_you_mean(name, known)}"
