"""Run a method on texts in memory."""

import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gsum.answers import Answer, is_frame, plain_record, records_of
from gsum.in_memory import LazyStore, MemoryTables
from gsum.names import family_named, naming_arguments, of_arguments, unknown
from gsum.progress import Progress
from gsum_assets.answering.ask import answer
from gsum_assets.corpus.load import Loaded, load_records
from gsum_assets.corpus.queries import Query, queries_in
from gsum_assets.corpus.records import named_record
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings
from gsum_assets.pipeline.corpus_settings import checked_settings as checked_corpus_settings
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import MODELS
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import Settings
from gsum_resources.settings.schema import checked_settings as checked_model_settings

if TYPE_CHECKING:
    import pandas as pd

_OF_MODELS = [name for name in Settings.model_fields if name not in ("automation", "state")]
_OF_CORPUS = [name for name in CorpusSettings.model_fields if name != "methods"]
_QUICK_CHARACTERS = 100_000  # up to which texts are embedded before torch would be loaded
_DIMENSIONS = ("corpus", "bucket", "method")  # constant here


def run(
    method: str | Family,
    texts: "Mapping[str, str] | pd.DataFrame",
    questions: "Sequence[str | Mapping[str, Any]] | pd.DataFrame" = (),
    settings: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> "Result":
    """Run a method on texts in memory, and answer questions by it.

    The steps are those of `gsum run`, and give the same tables; nothing is written to disk.
    Work of more than two seconds shows its progress on stderr, in a terminal or a notebook.

    Parameters
    ----------
    method : name of a method, see `gsum.methods`; or a `gsum_assets.pipeline.family.Family` of
        your own, whose first method is run.
    texts : text by document id; or a frame with the columns `document_id` (or `id`) and `text`,
        and `title` and `cites` where there are any.
    questions : texts; or dicts, or a frame, with `text` and whatever else a line of
        `queries.jsonl` may have: `query_id`, `references`, `document_id`, `kind`, `split`,
        `options`, `relevant_document_ids`.
    settings : tables of `gsum.toml` and `corpus.toml` by name, as
        `{"llm": {"backend": "openai_compatible", "model": "…"}, "chunking": {"max_tokens": 128}}`.
    models : objects that stand in for models, by `language_model`, `judge_model`,
        `embedding_model` or `passage_scorer`, see `gsum_resources.protocols.models`.
    progress : whether the progress of long work is shown, also that of tables made later.

    Raises
    ------
    UnknownNameError
        If there is no such method, setting or model.
    ValueError
        If no text can be used, or a question or a setting is bad.
    ModelUnavailableError
        If the server of a model refuses the key or cannot be reached.

    Warns
    -----
    UserWarning
        If some documents were rejected.

    Examples
    --------
    >>> import gsum
    >>> result = gsum.run(
    ...     "dense",
    ...     texts={"a": "The harbour opened in 1890.", "b": "The bridge was never finished."},
    ...     questions=["When did the harbour open?"],
    ...     settings={"retrieval": {"k": 1}},
    ... )
    >>> result.answers[["question", "answer"]].values.tolist()
    [['When did the harbour open?', 'The harbour opened in 1890.']]
    >>> result.contexts[["rank", "document_id"]].values.tolist()
    [[1, 'a']]
    >>> result.tables["chunks"][["document_id", "n_tokens"]].values.tolist()
    [['b', 6], ['a', 6]]
    >>> result.ask("Was the bridge finished?").text
    'The bridge was never finished.'
    """
    if isinstance(method, Family):
        _require_declared(method)
        family, method = method, method.methods[0]
    else:
        family = family_named(method)
    if strangers := sorted(set(models or ()) - set(MODELS)):
        raise unknown("model", strangers[0], MODELS)
    with naming_arguments():
        for_models, for_corpus = _checked(settings or {})
        loaded = _load_texts(texts, for_corpus)
        asked = _load_questions(questions, {document.document_id for document in loaded.documents})
    n_characters = sum(len(document.text) for document in loaded.documents)
    store = LazyStore()
    used = Models(
        for_models,
        store,
        TABLES["llm_calls"],
        dict(models or {}),
        quick=n_characters <= _QUICK_CHARACTERS,
    )
    shown = Progress(progress)
    tables = MemoryTables(family, method, loaded, asked, for_corpus, store, used, shown)
    wanted = family.read_by_questions if not asked else ["summaries"]
    names = [family.table(table).name for table in wanted]
    with tables.working(names):
        used.check()
        for name in names:
            tables.get(name)
    return Result(tables)


class Result:
    """The results of a method on texts.

    Attributes
    ----------
    method : its name.
    tables : every table by name, as a pandas frame; one that no answer needed is made when it is
        first used.
    """

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self.method = tables.method
        self.tables = Tables(tables)

    @property
    def failures(self) -> list[str]:
        """A sentence for each row that is missing, as after a model's malformed reply."""
        return [of_arguments(failure) for failure in self._tables.failures]

    @property
    def answers(self) -> "pd.DataFrame":
        """Answers: `query_id`, `question`, `answer`, and what each took.

        A method of several samples has a row for each, distinguished by `sample`.
        """
        asked = self._tables.get("queries").select(["query_id", "text"]).to_pandas()
        asked = asked.rename(columns={"text": "question"})
        written = self.tables["summaries"].rename(columns={"text": "answer"})
        return asked.merge(written, on="query_id")

    @property
    def contexts(self) -> "pd.DataFrame":
        """The passages that the answers were written from, best first."""
        family = self._tables.family
        return self.tables[family.table(family.answered_from).name]

    @property
    def scores(self) -> "pd.DataFrame":
        """Scores of the answers: a row for each question, a column for each metric.

        BERTScore is among them, and loads torch, unless `settings={"scores": {"bertscore":
        False}}`. Without references there are no scores of answers.
        """
        return self._scores(with_bertscore=True)

    def _scores(self, with_bertscore: bool) -> "pd.DataFrame":
        rows = self._tables.scores(with_bertscore).to_pandas()
        wide = rows.pivot_table(index="query_id", columns="metric", values="value")
        wide.columns.name = None
        return wide

    def ask(
        self,
        question: str,
        document_id: str | None = None,
        explain: bool = False,
        where: str = "",
    ) -> Answer:
        """Answer a further question.

        Parameters
        ----------
        document_id : asks one document alone, by its id or title.
        explain : whether the answer shall say how it came about.
        where : condition in SQL on the documents that are asked, over their columns and metadata:
            "date >= '2024-01-01' and kind = 'minutes'"; "": all documents.

        Raises
        ------
        ValueError
            If the question is empty, or there is no such document.
        """
        tables = self._tables
        with tables.working([]):
            inputs = tables.inputs()
            reply = answer(tables.family, inputs, question, document_id, explain, where)
        return Answer(reply, "the argument settings")

    def __repr__(self) -> str:
        n_documents = self._tables.get("documents").num_rows
        n_questions = self._tables.get("queries").num_rows
        return f"<gsum.Result of {self.method}: {n_documents} documents, {n_questions} questions>"


class Tables(Mapping[str, "pd.DataFrame"]):
    """Tables by name, as pandas frames."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> "pd.DataFrame":
        if name not in self._tables.names:
            raise unknown(f"table of {self._tables.method}", name, self._tables.names)
        rows = self._tables.get(name)
        return rows.drop_columns([n for n in _DIMENSIONS if n in rows.column_names]).to_pandas()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables.names)

    def __len__(self) -> int:
        return len(self._tables.names)

    def __repr__(self) -> str:
        return f"<gsum tables: {', '.join(self)}>"


def _require_declared(method: Family) -> None:
    """Raise a `ValueError` unless all tables of a method are declared."""
    for name in (name for step in method.index for name in step.writes):
        if f"{method.name}.{name}" not in TABLES:
            raise ValueError(
                f"method '{method.name}': its index writes '{name}', which no tables.py declares; "
                "register the method (CONTRIBUTING, Add a method), or compute this in a step of "
                "`question`"
            )


def _checked(settings: Mapping[str, Any]) -> tuple[Settings, CorpusSettings]:
    """Return the settings of models and of the corpus."""
    known = [*_OF_MODELS, *_OF_CORPUS]
    if strangers := sorted(set(settings) - set(known)):
        raise unknown("table of settings", strangers[0], known)

    of_models, of_corpus = (
        {name: value for name, value in settings.items() if name in names}
        for names in (_OF_MODELS, _OF_CORPUS)
    )
    return (
        checked_model_settings(of_models, "settings"),
        checked_corpus_settings(of_corpus, "settings"),
    )


def _load_texts(texts: "Mapping[str, str] | pd.DataFrame", settings: CorpusSettings) -> Loaded:
    """Return the documents as lines of `documents.jsonl` would give them."""
    if is_frame(texts):
        rows = records_of(texts)  # type: ignore[arg-type]
    elif isinstance(texts, Mapping):
        rows = [{"document_id": name, "text": text} for name, text in texts.items()]
    else:
        raise ValueError(
            f"texts is a {type(texts).__name__}; give a dict of texts by document id, or a frame "
            "with the columns document_id and text"
        )

    def refuse(_: Any) -> Any:
        raise CorpusError(
            "texts hold texts; convert files first, or make them a corpus by `gsum init`"
        )

    records = [
        named_record(row, "texts", line, json.dumps(row).encode())
        for line, row in enumerate(rows, 1)
    ]
    loaded = load_records(records, settings, refuse)
    if loaded.rejected:
        first = loaded.rejected[0]
        reason = of_arguments(first.reason)
        message = f"text {first.line}, document '{first.document_id}': {reason}"
        if not loaded.documents:
            raise ValueError(message)
        warnings.warn(
            f"{len(loaded.rejected)} of {len(rows)} documents were rejected, see "
            f"tables['rejected_documents'] (first: {message})",
            stacklevel=3,
        )
    if not loaded.documents:
        raise ValueError("texts is empty; give at least one document")
    return loaded


def _load_questions(
    questions: "str | Sequence[str | Mapping[str, Any]] | pd.DataFrame",
    document_ids: Collection[str],
) -> list[Query]:
    """Return the questions as lines of `queries.jsonl` would give them."""
    if isinstance(questions, str):
        questions = [questions]
    rows = records_of(questions) if is_frame(questions) else list(questions)  # type: ignore[arg-type]
    lines = (
        json.dumps({"text": row} if isinstance(row, str) else plain_record(row)).encode()
        for row in rows
    )
    queries, failures = queries_in(enumerate(lines, 1), document_ids, "question")
    if failures:
        raise ValueError("; ".join(failures))
    return queries
