"""Stories with their questions: SQuALITY (Wang et al., 2022) and ODSum (Zhou et al., 2023)."""

import hashlib
import tarfile
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    each_row,
    missing,
    needed_file,
    read_json,
    read_values,
    split_rows,
)
from gsum_assets.pipeline.corpus_settings import CorpusError

_STORY_FILES = "a folder with documents/{train,dev,test}.jsonl and queries.jsonl"
_MEETING_FILES = "a folder with Documents.tar.gz (or Documents/*.txt) and queries.json"


def _ask(contents: Contents, story_id: str, question: dict[str, Any], **values: Any) -> None:
    """Add a question on a story; question 1 is on the plot and general."""
    number = int(question["question_number"])
    contents.ask(
        f"{story_id}-{number}",
        question["question_text"],
        [response["response_text"] for response in question["responses"]],
        kind="general" if number == 1 else "specific",
        **values,
    )


def _read_squality(contents: Contents, split: str, _: int, story: dict[str, Any]) -> None:
    document_id = f"squality-{slug(str(story['metadata']['passage_id']))}"
    contents.add(document_id, _story_title(story["document"]), story["document"])
    for question in story["questions"]:
        _ask(contents, document_id, question, split=split, document_id=document_id)


def _story_title(text: str) -> str:
    """Return the first line of a story, after the note on who digitized it."""
    lines = [line.strip() for line in text.split("\n") if line.strip(" *\t")]
    lines = [line for line in lines if not line.startswith("*** START OF")]
    if lines and lines[0].startswith("Produced by"):
        ends = [i for i, line in enumerate(lines[:4]) if "pgdp.net" in line]
        lines = lines[ends[-1] + 1 if ends else 1 :]
    return lines[0][:200] if lines else ""


def _read_odsum_story(source: Path) -> Contents:
    """Read ODSum-Story: every section of every story that is not empty is a document.

    A section's id is a hash of its text, so that only the text indicates its story. A query belongs
    to the story with one of its responses, and all sections of that story are relevant.
    """
    file = needed_file(source, _STORY_FILES, "queries.jsonl")
    texts: dict[str, str] = {}
    stories: dict[str, tuple[str, list[str]]] = {}  # response uid: split, section ids
    n_sections = n_empty = 0
    keys = ("divided_document", "questions")
    for split, _, story in split_rows(source / "documents", ["*.jsonl"], required=keys):
        text_of = {_section_id(text): text for text in story["divided_document"] if text.strip()}
        n_sections += len(story["divided_document"])
        n_empty += sum(not text.strip() for text in story["divided_document"])
        texts |= text_of
        for question in story["questions"]:
            for response in question["responses"]:
                stories[response["uid"]] = (split, list(text_of))
    contents = Contents()
    for document_id in sorted(texts):
        contents.add(document_id, "", texts[document_id])
    contents.notes.append(f"{n_empty} of {n_sections} sections are empty and left out")
    for line, questions in read_values(file):
        if not isinstance(questions, list):
            raise CorpusError(f"{file} line {line}: expected a story's list of questions")
        for question in questions:
            uids = [response["uid"] for response in question["responses"]]
            linked = next((stories[uid] for uid in uids if uid in stories), None)
            if linked is None:
                contents.counts["queries share no response with a story and are left out"] += 1
                continue
            story_id, (split, relevant) = f"odsum-story-{line:03d}", linked
            _ask(contents, story_id, question, split=split, relevant_document_ids=relevant)
    return contents


def _section_id(text: str) -> str:
    return "section-" + hashlib.blake2b(text.strip().encode(), digest_size=8).hexdigest()


def _read_odsum_meeting(source: Path) -> Contents:
    """Read ODSum-Meeting; all queries are dev, as they have been used for development."""
    file = needed_file(source, _MEETING_FILES, "queries.json")
    texts = _transcripts(source)
    if not texts:
        raise missing(source, _MEETING_FILES)
    empty = sorted(name for name, text in texts.items() if not text.strip())
    contents = Contents()
    for name in sorted(texts.keys() - set(empty)):
        contents.add(name, "", texts[name])
    rows = read_json(file)
    if not isinstance(rows, dict):
        raise CorpusError(f"{file}: expected an object of numbered queries")
    for number, row in rows.items():
        contents.ask(
            f"odsum-meeting-{int(number):03d}",
            row["query"],
            [row["answer"]],
            split="dev",
            kind="specific",
            relevant_document_ids=[n for n in map(slug, row["meetings_list"]) if n not in empty],
        )
    contents.notes.append("the source has no splits; all queries are imported as dev")
    if empty:
        contents.notes.append(
            f"{len(empty)} of {len(texts)} transcripts are empty ({', '.join(empty)}) and left "
            "out, also of the relevant documents"
        )
    return contents


def _transcripts(source: Path) -> dict[str, str]:
    """Return texts by meeting name, from the extracted folder or the archive."""
    archive = source / "Documents.tar.gz"
    if (folder := source / "Documents").is_dir() or not archive.is_file():
        return {slug(p.stem): p.read_text(encoding="utf-8") for p in folder.glob("*.txt")}
    texts = {}
    try:
        with tarfile.open(archive) as members:
            for member in members:
                content = members.extractfile(member)  # None for folders and links
                if content and member.name.endswith(".txt"):
                    texts[slug(Path(member.name).stem)] = content.read().decode("utf-8")
    except (tarfile.TarError, EOFError, UnicodeDecodeError) as error:
        raise CorpusError(f"{archive}: not readable ({error}); download it again") from error
    return texts


BENCHMARKS = {
    "squality": Benchmark(
        "SQuALITY stories",
        "story",
        "SQuALITY's jsonl files (v1.3, txt) train.jsonl, dev.jsonl, test.jsonl, or one of them",
        each_row(
            _read_squality,
            "*.jsonl",
            folders=("txt", "v1-3/txt", "data/v1-3/txt"),
            required=("metadata", "document", "questions"),
        ),
    ),
    "odsum-story": Benchmark("ODSum stories", "story", _STORY_FILES, _read_odsum_story),
    "odsum-meeting": Benchmark("ODSum meetings", "meeting", _MEETING_FILES, _read_odsum_meeting),
}
