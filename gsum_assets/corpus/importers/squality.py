"""SQuALITY (Wang et al., 2022): stories, five questions each, four references per question."""

from pathlib import Path

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import read_rows, split_files
from gsum_assets.corpus.load import Document

_FOLDERS = ("txt", "v1-3/txt", "data/v1-3/txt")


def read_squality(source: Path) -> Contents:
    """Read stories by their passage id; question 1 is on the plot and general."""
    contents = Contents()
    for split, file in split_files(source, ["*.jsonl"], _FOLDERS):
        for _, story in read_rows(file, ("metadata", "document", "questions")):
            document_id = f"squality-{slug(str(story['metadata']['passage_id']))}"
            text = story["document"]
            contents.documents.append(Document(document_id, story_title(text), text))
            for question in story["questions"]:
                number = int(question["question_number"])
                contents.ask(
                    f"{document_id}-{number}",
                    question["question_text"],
                    [response["response_text"] for response in question["responses"]],
                    split=split,
                    kind="general" if number == 1 else "specific",
                    document_id=document_id,
                )
    return contents


def story_title(text: str) -> str:
    """Return the first line of a story, after the note on who digitized it."""
    lines = [line.strip() for line in text.split("\n") if line.strip(" *\t")]
    lines = [line for line in lines if not line.startswith("*** START OF")]
    if lines and lines[0].startswith("Produced by"):
        ends = [i for i, line in enumerate(lines[:4]) if "pgdp.net" in line]
        lines = lines[ends[-1] + 1 if ends else 1 :]
    return lines[0][:200] if lines else ""


SQUALITY = Benchmark(
    "SQuALITY stories",
    "story",
    "SQuALITY's jsonl files (v1.3, txt) train.jsonl, dev.jsonl, test.jsonl, or one of them",
    read_squality,
)
