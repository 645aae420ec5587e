"""Questions one after the other, of which each may refer to the one before."""

from dataclasses import dataclass, field, replace

from gsum_assets.answering.ask import (
    Answer,
    Sections,
    ask,
    find_document,
    require_filter,
    require_method,
    titles_in,
)
from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.where import COLUMNS, documents_where
from gsum_assets.pipeline.prompts import prompts_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.follow_up import Turn, completed, rewritten
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.retrieval.words import Words
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.llm.ledger import Ledger


@dataclass
class Conversation:
    """A conversation over one corpus; tables and models that a question used stay in memory.

    Attributes
    ----------
    method, document, explain, where : as in `ask`; they may be changed between two questions.
    turns : the questions so far, as they were understood, and their answers.
    """

    workspace: Workspace
    corpus: str
    method: str = DEFAULT_METHOD
    document: str | None = None
    explain: bool = False
    where: str = ""
    turns: list[Turn] = field(default_factory=list)

    def use_method(self, method: str) -> None:
        """Find passages by another method from now on.

        Raises
        ------
        CorpusError
            If there is no such method, or a table that it reads is missing.
        """
        family = require_method(self.workspace, self.corpus, method)
        if self.where:
            require_filter(family, method)
        self.method = method

    def use_where(self, condition: str) -> int:
        """Ask only documents that fulfil a condition from now on; "": all documents again.

        Returns
        -------
        The number of these documents.

        Raises
        ------
        CorpusError
            If the method cannot be restricted to some documents, or the condition is wrong.
        """
        documents = self.workspace.rows("documents", self.corpus).columns(COLUMNS)
        n_documents = documents.num_rows
        if condition:
            require_filter(require_method(self.workspace, self.corpus, self.method), self.method)
            n_documents = len(documents_where(documents, condition))
        self.where = condition
        return n_documents

    def use_document(self, name: str) -> None:
        """Ask one document alone from now on, by its title or id; "": all documents again.

        Raises
        ------
        CorpusError
            If there is no such document, or several have the title.
        """
        titles = titles_in(self.workspace.rows("documents", self.corpus))
        self.document = find_document(name, titles, self.corpus) if name else None

    def ask(self, question: str) -> Answer:
        """Answer a question, completed from those before it if it refers to them; see `ask`.

        The language model that writes answers completes it, or rules where none is set or its reply
        is unusable.
        """
        understood = self._understood(question) if self.turns else question
        answer = ask(
            self.workspace,
            self.corpus,
            understood,
            self.method,
            self.document,
            self.explain,
            self.where,
        )
        self.turns.append(Turn(understood, answer.text))
        is_changed = understood != question
        return replace(answer, question=question, understood=understood if is_changed else "")

    def _understood(self, question: str) -> str:
        models, text = self.workspace.models, ""
        if not models.identity("answers").startswith(EXTRACTIVE):
            ledger = Ledger(self.workspace.store, TABLES["llm_calls"], self.corpus, "ask")
            prompts = prompts_of(Sections(self.workspace.section), self.corpus, "conversation")
            model = models.language_model(ledger, name="answers")
            text = rewritten(question, self.turns, model, prompts)
        words = Words(self.workspace.section(self.corpus, "language"))
        return text or completed(question, self.turns, words)
