"""The prompt of `gsum ask CORPUS`: lines are questions, or commands that begin with "/"."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
from rich.console import Console as Screen
from rich.live import Live
from rich.text import Text

from gsum_assets.answering.conversation import Conversation
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.text.refusals import without_mark

HELP = """\
A line is a question. It may refer to the one before: "and who paid?", "what about the boat?"
  /method NAME      find passages by another method
  /document NAME    ask one document alone, by its title or id; without NAME: all again
  /where CONDITION  ask documents alone that fulfil it, such as: date >= '2024-01-01'
  /new              forget the questions so far
  /help             show this
  /quit             end, as Ctrl-D does"""
_MOST_LINES = 1000  # of the history


class Prompt:
    """Reads questions, which `show` answers, and commands; `n_failed` lines ended with an error.

    With `as_json`, errors of questions are objects, and what commands say is printed to stderr.
    """

    def __init__(
        self, conversation: Conversation, show: Callable[[str], None], as_json: bool = False
    ) -> None:
        self._conversation = conversation
        self._as_json = as_json
        self._show = show
        self.n_failed = 0

    def read(self, line: str) -> bool:
        """Answer a question or obey a command; return whether more lines are read."""
        line = line.strip()
        if line in ("/quit", "/exit"):
            return False
        try:
            if line.startswith("/"):
                click.echo(self._obey(line), err=self._as_json)
            elif line:
                self._show(line)
        except (ValueError, ModelUnavailableError) as error:
            self.n_failed += 1
            if self._as_json and not line.startswith("/"):
                failure = {"question": line, "error": str(error)}
                click.echo(json.dumps(failure, ensure_ascii=False))
            else:
                click.echo(f"Error: {error}", err=True)
        return True

    def _obey(self, line: str) -> str:
        name, _, value = line.partition(" ")
        conversation, value = self._conversation, value.strip()
        if name == "/help":
            return HELP
        if name == "/new":
            conversation.turns.clear()
            return "the questions so far are forgotten"
        if name == "/method":
            if value:
                conversation.use_method(value)
            return f"method: {conversation.asked_by}"
        if name == "/document":
            conversation.use_document(value)
            return f"document: {conversation.document or 'all'}"
        if name == "/where":
            n_documents = conversation.use_where(value)
            return f"where: {value or 'no condition'}; documents: {n_documents:,}"
        known = [line.split()[0] for line in HELP.splitlines() if line.startswith("  /")]
        raise CorpusError(f"unknown command '{name}'{did_you_mean(name, known)}")


def typed_lines(mark: str, history: Path) -> Iterator[str]:
    """Yield the lines that a person types, with a history; Ctrl-C discards a line, Ctrl-D ends."""
    import readline

    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_MOST_LINES)
    while True:
        try:
            yield input(mark)
        except KeyboardInterrupt:
            click.echo()
        except EOFError:
            click.echo()
            return
        with suppress(OSError):
            readline.write_history_file(history)
            history.chmod(0o600)


class Preview:
    """Shows the pieces of an answer as they arrive, and removes them in the end."""

    def __init__(self, screen: Screen) -> None:
        self._live = Live(console=screen, transient=True, vertical_overflow="visible")
        self._arrived = ""

    def __call__(self, piece: str | None) -> None:
        """Show a piece; None removes what is shown, since another attempt begins."""
        if piece is None:
            self.clear()
            return
        self._arrived += "".join(c for c in piece if c.isprintable() or c == "\n")  # no controls
        self._live.start()
        self._live.update(Text(without_mark(self._arrived)), refresh=True)

    def clear(self) -> None:
        """Remove what is shown."""
        self._arrived = ""
        self._live.update("")
        self._live.stop()
