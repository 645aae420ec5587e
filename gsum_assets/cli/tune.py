"""`gsum tune`: entity types and an extraction prompt, proposed by the language model."""

import json
from collections.abc import Iterator

import click

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.corpus.find import find_corpus
from gsum_assets.graphrag.tune import TuningError, propose, sample
from gsum_assets.pipeline.prompts import PROMPTS_FOLDER
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.llm.ledger import Ledger
from gsum_resources.settings.home import Home


def proposed(home: Home, corpus: str, n_samples: int, write: bool) -> Iterator[str]:
    """Yield the lines that are printed.

    Raises
    ------
    click.ClickException
        If the corpus has no passages, no language model is set, a request fails, or the prompt's
        file exists.
    """
    folder = find_corpus(home.corpora, corpus)
    workspace = open_workspace(home)
    store, chunks = workspace.store, TABLES["chunks"]
    partitions = store.partitions(chunks, corpus)
    if not partitions:
        raise click.ClickException(f"{corpus} has no passages yet; `gsum run {corpus}` makes them")
    ledger = Ledger(store, TABLES["llm_calls"], corpus, "tune")
    model = workspace.models.language_model(ledger, name="extraction")
    if model.identity.startswith(EXTRACTIVE):
        raise click.ClickException(
            "the model 'extractive' works by rules, which no prompt changes; set a language model "
            f"in [llm] of {home.settings_file}"
        )
    file = folder / PROMPTS_FOLDER / "graphrag" / "extract.md"
    if write and file.exists():
        raise click.ClickException(f"{file} exists; move or delete it first")
    try:
        proposal = propose(sample(store.read(chunks, partitions)[0], n_samples), model)
    except TuningError as error:
        raise click.ClickException(f"{corpus}: {error}") from error
    yield from (f"The texts are about: {proposal.subject}", "", "for corpus.toml:", "")
    types = ", ".join(json.dumps(kind, ensure_ascii=False) for kind in proposal.entity_types)
    yield from ("[graphrag.extraction]", f"entity_types = [{types}]", "")
    if write:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(proposal.prompt, encoding="utf-8")
        yield f"{file}: written; read it before the next run, which extracts the corpus again by it"
    else:
        yield from (f"for {file} (--write writes it):", "", proposal.prompt.rstrip())
