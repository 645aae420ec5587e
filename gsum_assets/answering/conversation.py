"""Questions one after the other, of which each may refer to the one before."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import ask
from gsum_assets.answering.methods import chosen_method, require_method, waiting_note
from gsum_assets.answering.scope import find_document, matching, require_filter, titles_in
from gsum_assets.answering.several import ask_several
from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.prompts import prompts_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.follow_up import Turn, completed, rewritten
from gsum_assets.retrieval.words import Words
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.llm.ledger import Ledger


@dataclass
class Conversation:
    """A conversation over one or more corpora; tables and models that were used stay in memory.

    Attributes
    ----------
    corpora : at least one; settings and prompts are those of the first.
    method : as in `ask`; "": chosen for each question, see `methods.py`.
    document, explain, where : as in `ask`; they may be changed between two questions.
    turns : the questions so far, as they were understood, and their answers.
    """

    workspace: Workspace
    corpora: Sequence[str]
    method: str = ""
    document: str | None = None
    explain: bool = False
    where: str = ""
    turns: list[Turn] = field(default_factory=list)

    @property
    def asked_by(self) -> str:
        """The method, or the one that is chosen for the next question."""
        return self.method or self._chosen()

    def use_method(self, method: str) -> None:
        """Use another method from now on, "": the chosen one; `CorpusError` if it cannot answer."""
        name = method or self._chosen()
        families = [require_method(self.workspace, corpus, name) for corpus in self.corpora]
        if self.where:
            require_filter(families[0], name)
        self.method = method

    def use_where(self, condition: str) -> int:
        """Ask only documents that fulfil a condition from now on, "": all; return their number.

        `CorpusError` if the method cannot be restricted, or the condition is wrong.
        """
        if condition:
            family = require_method(self.workspace, self.corpora[0], self.asked_by)
            require_filter(family, self.asked_by)
        tables = {corpus: self.workspace.rows("documents", corpus) for corpus in self.corpora}
        found = [
            len(matching(rows, condition, corpus) if condition else rows.columns(["document_id"]))
            for corpus, rows in tables.items()
        ]
        self.where = condition
        return sum(found)

    def use_document(self, name: str) -> None:
        """Ask one document alone from now on, by its title or id; "": all documents again.

        Without one such document, or over several corpora, `CorpusError` is raised.
        """
        self.document = None
        if name:
            self._require_one_corpus()
            titles = titles_in(self.workspace.rows("documents", self.corpora[0]))
            self.document = find_document(name, titles, self.corpora[0])

    def ask(self, question: str) -> Answer:
        """Answer a question, completed from those before it if it refers to them; see `ask`.

        The language model that writes answers completes it, or rules where none is set or its reply
        is unusable.
        """
        understood = self._understood(question) if self.turns else question
        answer = self._answered(understood)
        self.turns.append(Turn(understood, answer.text))
        waiting = waiting_note(self.workspace, self.corpora, answer.method)
        return replace(
            answer,
            question=question,
            understood=understood if understood != question else "",
            note=" ".join(filter(None, [answer.note, waiting])),
        )

    def _chosen(self) -> str:
        return chosen_method(self.workspace, self.corpora, self.document is not None)

    def _require_one_corpus(self) -> None:
        if len(self.corpora) > 1:
            raise CorpusError("a document is asked in one corpus; name that corpus alone")

    def _answered(self, question: str) -> Answer:
        if len(self.corpora) == 1:
            (corpus,) = self.corpora
            asked = self.asked_by, self.document, self.explain, self.where
            return ask(self.workspace, corpus, question, *asked)
        if self.document is not None:
            self._require_one_corpus()
        if self.explain:
            raise CorpusError("an explanation is of one corpus; ask one, or leave --explain out")
        return ask_several(self.workspace, self.corpora, question, self.asked_by, self.where)

    def _understood(self, question: str) -> str:
        models, text, corpus = self.workspace.models, "", self.corpora[0]
        if not models.identity("answers").startswith(EXTRACTIVE):
            ledger = Ledger(self.workspace.store, TABLES["llm_calls"], corpus, "ask")
            prompts = prompts_of(self.workspace.section, corpus, "conversation")
            model = models.language_model(ledger, name="answers")
            text = rewritten(question, self.turns, model, prompts)
        words = Words(self.workspace.section(corpus, "language"))
        return text or completed(question, self.turns, words)
