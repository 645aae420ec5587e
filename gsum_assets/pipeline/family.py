"""Declaration of a family of methods, independent of Dagster."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs, Step
from gsum_assets.pipeline.tables import RESULT_TABLES, TABLES, table_of
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.table import Macro, Table, View

_OF_DOCUMENTS = ("documents", "document_sections", "chunks")
_FOR_QUESTIONS = ("queries", SETTINGS)  # every question step may read these


class Read(NamedTuple):
    """The texts that answers are based on.

    Attributes
    ----------
    rows : rows like those of `contexts` that have a text.
    held : (chunk, document) ids that a text contains or was written from, by node id; a chunk
        contains itself.
    """

    rows: pa.Table
    held: Mapping[str, Collection[tuple[str, str]]]


@dataclass(frozen=True)
class Family:
    """Methods that share their steps, tables and settings, in a folder of their own.

    Attributes
    ----------
    name : name of its folder, asset prefix and asset group.
    methods : each is a file of its result tables and a row of the leaderboard.
    studies : those of them that only a study names: ablations, controls and upper bounds. A group
        of methods, such as "all", does not have them.
    default : methods that are requested for a new corpus.
    index : steps that compute its tables from those of the corpus, in order.
    question : steps from questions to the texts that answers are written from, in order;
        `rankings` and `contexts` are among them. Those after `contexts` refine it: answers are
        written from the rows of the last one, whose columns are those of `contexts` at least.
    settings : schema of the family's table of `corpus.toml`, whose subtables a step reads one by
        one, as "gor.training"; None if the steps read and check the whole.
    prompts : prompts of its requests to a language model; None: it has none of its own.
    explain : explains how an answer was found, from the tables of all steps for one question;
        None: there is nothing to explain beyond the passages.
    ambiguous : returns names of a question that may be several entities', with a document of each;
        None: the family knows no names.
    prompt_tokens : section and key of the setting for the longest prompt, in word pieces, as
        "graphrag.answers.prompt_tokens"; empty if there is none.
    weighted : whether the scores of its contexts are probabilities that a passage holds evidence; a
        model with `reads_weights` then prefers sentences of likely passages.
    supported_questions : selects the questions that a method can answer; None: all. An upper
        bound that reads the marked evidence has no answer where none is marked.
    read : returns the texts that answers are based on; None: rows of `answered_from`.
    views : returns views over its tables in the DuckDB file.
    costs : what its answers request of the language model; by default a request a question.
    filtered : methods that can answer from some documents of a corpus, since all that they read of
        the others are rows with a `document_id`.
    lexical : methods that read no vectors of passages.
    """

    name: str
    methods: Sequence[str]
    question: Sequence[Step]
    index: Sequence[Step] = ()
    studies: Collection[str] = ()
    default: Sequence[str] = ()
    settings: type[BaseModel] | None = None
    prompts: Prompts | None = None
    explain: Callable[[Inputs], str] | None = None
    ambiguous: Callable[[str, Inputs], Mapping[str, Sequence[str]]] | None = None
    prompt_tokens: str = ""
    weighted: bool = False
    supported_questions: Callable[[str, pa.Table], pa.Table] | None = None
    read: Callable[[Inputs], Read] | None = None
    views: Callable[[], Sequence[View | Macro]] = tuple
    costs: Sequence[Cost] = (Cost("question", tokens_in=1500, tokens_out=180),)
    filtered: Collection[str] = ()
    lexical: Collection[str] = ()

    @property
    def listed(self) -> Sequence[str]:
        """The methods without those of studies."""
        return [name for name in self.methods if name not in self.studies]

    def path(self, table: str) -> list[str]:
        """Return the asset path of a table by the name that the family's steps use for it."""
        own_path = [self.name, table]
        is_own = table in RESULT_TABLES or ".".join(own_path) in TABLES
        return own_path if is_own else table.split("/")

    def table(self, name: str) -> Table:
        """Return a table by the name that the family's steps use for it."""
        return table_of(self.path(name))

    @property
    def read_by_questions(self) -> Sequence[str]:
        """Tables that question steps read, and those that show where passages come from."""
        named = [name for step in self.question for name in step.reads]
        excluded = {*MODELS, *_FOR_QUESTIONS, "query_embeddings"}
        read = (name for name in named if name not in excluded)
        return list(dict.fromkeys([*_OF_DOCUMENTS, *read]))

    def reads(self, method: str) -> Sequence[str]:
        """Return those of `read_by_questions` that a method needs."""
        unread = {
            name
            for step in self.index
            if step.methods and method not in step.methods
            for name in step.writes
        }
        return [name for name in self.read_by_questions if name not in unread]

    @property
    def preparations(self) -> Sequence[Step]:
        """The steps before `rankings`."""
        return self.question[: self._index_of("rankings")]

    @property
    def retrieval_steps(self) -> Sequence[Step]:
        """The steps from questions to contexts, in order."""
        return self.question[: self._index_of("contexts") + 1]

    @property
    def refinements(self) -> Sequence[Step]:
        """The steps between `contexts` and `summaries`, in order."""
        return self.question[self._index_of("contexts") + 1 :]

    def _index_of(self, table: str) -> int:
        return [step.table for step in self.question].index(table)

    @property
    def answered_from(self) -> str:
        """The table whose rows answers are written from."""
        return self.question[-1].table

    def questions(self, inputs: Inputs) -> Inputs:
        """Return the inputs with only those questions that the method supports and answers."""
        select, queries = self.supported_questions, inputs.tables["queries"]

        def answered() -> pa.Table:
            rows = queries.get()
            if splits := inputs.settings("answer.splits"):
                rows = rows.filter(pc.is_in(rows["split"], pa.array(splits)))
            return select(inputs.method, rows) if select else rows

        return replace(inputs, tables={**inputs.tables, "queries": Lazy(answered)})

    def texts_read(self, inputs: Inputs) -> Read:
        """Return the texts that answers are based on, without those that were dropped."""
        rows, held = self.read(inputs) if self.read else Read(inputs.table(self.answered_from), {})
        return Read(rows.filter(pc.not_equal(rows["text"], "")), held)
