"""The command `gsum ask`."""

import json
import sys

import click

from gsum_assets.cli.run import listed
from gsum_resources.settings.home import Home


@click.command()
@click.argument("corpus")
@click.argument("question", required=False)
@click.option(
    "--method",
    help="Method that finds the passages.  [default: the first of passage_walk, evidence and "
    "hybrid that is indexed; evidence first with --document]",
)
@click.option("--document", help="Ask one document of the corpus, by its title or id.")
@click.option(
    "--where",
    default="",
    metavar="CONDITION",
    help="Ask the documents alone that fulfil a condition on their columns and metadata, in SQL: "
    "\"date >= '2024-01-01' and kind = 'minutes'\".",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also show the kind of the question, whether it is answerable, and for jerr and evidence "
    "why these passages were read.",
)
@click.option("--ids", is_flag=True, help="Also show the ids of documents and passages.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object a question, each on a line."
)
def ask(
    corpus: str,
    question: str | None,
    method: str | None,
    document: str | None,
    where: str,
    explain: bool,
    ids: bool,
    as_json: bool,
) -> None:
    """Answer a QUESTION over CORPUS from its stored indexes, with the sources of the answer.

    CORPUS may be several, separated by commas: the best passages of all of them are read.
    Without a QUESTION questions are read from a prompt, or from the lines of the input. A question
    may refer to the one before. Lines that begin with "/" are commands; /help lists them.
    """
    from gsum_assets.cli.interrupts import REPLIES_KEPT, ended_by_signals

    with ended_by_signals(REPLIES_KEPT):
        from gsum_assets.answering.conversation import Conversation
        from gsum_assets.answering.renderings import answer_lines, answer_object
        from gsum_assets.answering.workspace import open_workspace
        from gsum_assets.cli.prompt import Preview, Prompt, typed_lines
        from gsum_assets.cli.terminal import new_screen

        home = Home.from_environment()
        preview = Preview(new_screen()) if sys.stdout.isatty() and not as_json else None
        # without torch and Dagster where possible
        workspace = open_workspace(home, quick=True, on_words=preview)
        conversation = Conversation(workspace, listed(corpus) or [corpus], explain=explain)
        conversation.use_method(method or "")
        conversation.use_document(document or "")
        if where:
            conversation.use_where(where)

    def show(question: str) -> None:
        with ended_by_signals(REPLIES_KEPT):
            try:
                answer = conversation.ask(question)
            finally:
                if preview:
                    preview.clear()
        if as_json:
            click.echo(json.dumps(answer_object(answer), ensure_ascii=False))
            return
        for line in answer_lines(answer, home.settings_file, ids):
            click.echo(line)

    if question is not None:
        show(question)
        return
    prompt, is_typed = Prompt(conversation, show, as_json), sys.stdin.isatty()
    if is_typed:
        about = f"{corpus}, by {conversation.asked_by}; /help lists commands, Ctrl-D ends"
        click.echo(about, err=as_json)
    for line in typed_lines(f"{corpus}> ", home.root / "history") if is_typed else sys.stdin:
        if not (is_typed or as_json) and line.strip():
            click.echo(f"> {line.strip()}")
        if not prompt.read(line):
            break
    if prompt.n_failed and not is_typed:
        sys.exit(1)
