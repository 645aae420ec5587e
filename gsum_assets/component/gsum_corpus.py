"""The component `gsum.GsumCorpus`: a corpus, with gsum's assets, in a Dagster project of others."""

from collections.abc import Sequence
from typing import Annotated

import dagster as dg
from dagster.components import Scaffolder, ScaffoldRequest
from pydantic import Field

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.definitions import definitions_of
from gsum_assets.pipeline.corpus_settings import CorpusError, corpus_name_problem, load_settings
from gsum_assets.registry.families import METHODS
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import SettingsError

_SCAFFOLD = """\
type: {type}

attributes:
  # Its documents are in data/corpora/{name}, its settings in corpus.toml there.
  corpus: {name}
  # Families whose assets are added; without them those of the methods that it keeps up to date.
  # families: [retrieval, gor]
  # When it is indexed, besides after each change of its documents, in place of 02:00.
  # schedule: "0 5 * * *"
  # Your assets that write its documents, for the lineage.
  # upstream: [minutes]
"""


class _Scaffold(Scaffolder):
    """Writes a commented `defs.yaml`, and the folder of the documents."""

    def scaffold(self, request: ScaffoldRequest) -> None:
        """Write the files of a new component."""
        name = request.target_path.name
        text = _SCAFFOLD.format(type=request.type_name, name=name)
        (request.target_path / "defs.yaml").write_text(text)
        if request.project_root:
            (request.project_root / "data/corpora" / name).mkdir(parents=True, exist_ok=True)


@dg.scaffold_with(_Scaffold)
class GsumCorpus(dg.Component, dg.Resolvable, dg.Model):
    """A corpus of a home of gsum.

    All such components of a project share one home and its assets, of which each corpus is a
    partition. Loading them reads settings and writes nothing.
    """

    corpus: Annotated[str, Field(description="name of its folder in `corpora` of the home")]
    home: Annotated[
        str,
        Field(default="data", description="gsum's home, relative to the project; GSUM_HOME wins"),
    ] = "data"
    families: Annotated[
        Sequence[str] | None,
        Field(
            default=None,
            description="families of methods whose assets are added; by default those of the "
            "methods that the corpus keeps up to date",
        ),
    ] = None
    schedule: Annotated[
        str | None,
        Field(default=None, description="cron line of its indexing, in place of `nightly`"),
    ] = None
    upstream: Annotated[
        Sequence[str],
        Field(default=(), description="keys of assets that write the documents, for the lineage"),
    ] = ()

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions for all such components in the project's first one."""
        every = context.component_tree.get_all_components(GsumCorpus) or [self]
        if every[0] is not self:
            return dg.Definitions()
        if len(homes := {each.home for each in every}) > 1:
            raise SettingsError(
                "gsum.GsumCorpus: components of one project share one home; 'home' is "
                f"{' and '.join(sorted(homes))}: write the same in all"
            )
        home = Home.from_environment(context.project_root / self.home)
        return definitions_of(
            open_workspace(home),
            upstream=[dg.AssetKey.from_user_string(key) for each in every for key in each.upstream],
            families={family for each in every for family in each.chosen_families(home)},
            cron_of={each.corpus: each.schedule for each in every if each.schedule},
        )

    def chosen_families(self, home: Home) -> Sequence[str]:
        """Return the families whose assets the corpus needs.

        Raises `CorpusError` if the name of the corpus is invalid, or a family, method or setting is
        unknown.
        """
        where = f"corpus '{self.corpus}'"
        if problem := corpus_name_problem(self.corpus):
            raise CorpusError(f"{where}: {problem}")
        if self.families is None:
            kept = load_settings(home.corpora / self.corpus).methods or METHODS.default
            return [METHODS.family_of(method).name for method in METHODS.named(kept, where)]
        if unknown := set(self.families) - METHODS.families.keys():
            known = ", ".join(METHODS.families)
            raise CorpusError(f"{where}: no family {', '.join(sorted(unknown))}; choose of {known}")
        return self.families
