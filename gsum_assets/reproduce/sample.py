"""The sample of a benchmark that a paper measured on."""

import random
from dataclasses import replace

from pydantic import Field

from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.corpus.queries import Query
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.settings.table import SettingsTable


class Sample(SettingsTable):
    """The table `[sample]` of a preset: which documents and questions are used."""

    kinds: list[str] = Field(default=[], description="kinds of questions; empty: all")
    min_words: int = Field(default=0, ge=0, description="shortest document of a question, words")
    one_reference: bool = Field(
        default=False, description="a question with several references becomes one for each"
    )
    n: dict[str, int] = Field(
        default={},
        description="how many documents of a split are drawn, with one_reference how many "
        "questions; 0: all; splits that are not named are left out; empty: all of all splits. "
        "'test' is drawn from dev where the files have no questions of test",
    )
    questions: bool = Field(
        default=True,
        description="whether the benchmark's questions are used: not if they are generated",
    )
    seed: int = Field(default=0, description="of the draw")


def sampled(contents: Contents, sample: Sample) -> Contents:
    """Return the documents and questions of a sample, with notes on what was left out.

    Documents are left out where questions are on single documents, and no question is on them.
    Raise `CorpusError` if no question is left.
    """
    if not sample.questions:
        return replace(contents, queries=[])
    n_words = {document.document_id: len(document.text.split()) for document in contents.documents}
    chosen = [query for query in contents.queries if query.kind in (sample.kinds or [query.kind])]
    on_one = {query.document_id for query in chosen} - {None}
    long = [
        query
        for query in chosen
        if query.document_id is None or n_words[query.document_id] >= sample.min_words
    ]
    notes = [*contents.notes]
    if n_short := len({q.document_id for q in chosen} - {q.document_id for q in long}):
        notes.append(f"{n_short} documents of fewer than {sample.min_words:,} words left out")
    if sample.one_reference:
        long = [
            replace(query, query_id=f"{query.query_id}-{number}", references=[reference])
            if len(query.references) > 1
            else query
            for query in long
            for number, reference in enumerate(query.references or [""], start=1)
        ]
    queries = _drawn(long, sample, notes) if sample.n else long
    if not queries:
        raise CorpusError(
            f"no question is left of {len(contents.queries)}: the sample takes kinds "
            f"{sample.kinds or 'all'}, documents of at least {sample.min_words} words and splits "
            f"{sorted(sample.n) or 'all'}; give the other files, or change [sample]"
        )
    kept = {query.document_id for query in queries}
    documents = [d for d in contents.documents if not on_one or d.document_id in kept]
    return replace(contents, documents=documents, queries=queries, notes=notes)


def _drawn(queries: list[Query], sample: Sample, notes: list[str]) -> list[Query]:
    """Return the questions of the documents that are drawn of each split."""
    drawn: list[Query] = []
    for split, n in sample.n.items():
        of_split = [query for query in queries if query.split == split]
        if split == "test" and not any(query.references for query in of_split):
            of_split = [query for query in queries if query.split == "dev"]
            notes.append("the files have no answered questions of test; those of dev are used")

        def unit(query: Query) -> str:
            by_question = sample.one_reference or query.document_id is None
            return query.query_id if by_question else query.document_id or ""

        units = sorted({unit(query) for query in of_split})
        taken = set(random.Random(sample.seed).sample(units, min(n or len(units), len(units))))
        drawn += [query for query in of_split if unit(query) in taken]
        notes.append(f"{split}: {len(taken)} of {len(units)} drawn by seed {sample.seed}")
    return drawn
