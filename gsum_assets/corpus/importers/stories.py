"""Stories with their questions: SQuALITY (Wang et al., 2022) and ODSum (Zhou et al., 2023)."""

import hashlib
import tarfile
from pathlib import Path

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    missing,
    needed_file,
    read_json,
    read_values,
    split_rows,
)
from gsum_assets.corpus.load import Document
from gsum_assets.pipeline.corpus_settings import CorpusError

_FOLDERS = ("txt", "v1-3/txt", "data/v1-3/txt")


def read_squality(source: Path) -> Contents:
    """Read stories by their passage id; question 1 is on the plot and general."""
    contents = Contents()
    keys = ("metadata", "document", "questions")
    for split, _, story in split_rows(source, ["*.jsonl"], _FOLDERS, keys):
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


_STORY_FILES = "a folder with documents/{train,dev,test}.jsonl and queries.jsonl"
_MEETING_FILES = "a folder with Documents.tar.gz (or Documents/*.txt) and queries.json"


def read_odsum_story(source: Path) -> Contents:
    """Read ODSum-Story: every section of every story that is not empty is a document.

    A section's id is a hash of its text, it has no title, and sections are ordered by id, so that
    only the text indicates its story. A query belongs to the story with one of its responses, by
    the response's uid; all sections of that story are relevant. Queries have the split of their
    story.
    """
    file = needed_file(source, _STORY_FILES, "queries.jsonl")
    documents: dict[str, Document] = {}
    stories: dict[str, tuple[str, list[str]]] = {}  # response uid: split, section ids
    n_sections = n_empty = 0
    keys = ("divided_document", "questions")
    for split, _, story in split_rows(source / "documents", ["*.jsonl"], required=keys):
        sections = [text for text in story["divided_document"] if text.strip()]
        n_sections += len(story["divided_document"])
        n_empty += len(story["divided_document"]) - len(sections)
        ids = [
            "section-" + hashlib.blake2b(text.strip().encode(), digest_size=8).hexdigest()
            for text in sections
        ]
        for document_id, text in zip(ids, sections, strict=True):
            documents[document_id] = Document(document_id, "", text)
        for question in story["questions"]:
            for response in question["responses"]:
                stories[response["uid"]] = (split, ids)
    contents = Contents([documents[key] for key in sorted(documents)])
    contents.notes.append(f"{n_empty} of {n_sections} sections are empty and left out")
    _ask(contents, file, stories)
    return contents


def _ask(contents: Contents, file: Path, stories: dict[str, tuple[str, list[str]]]) -> None:
    """Add the queries with their stories' sections, and a note on those without a story."""
    n_unlinked = 0
    for line, questions in read_values(file):
        if not isinstance(questions, list):
            raise CorpusError(f"{file} line {line}: expected a story's list of questions")
        for question in questions:
            responses = question["responses"]
            linked = [stories[r["uid"]] for r in responses if r["uid"] in stories]
            if not linked:
                n_unlinked += 1
                continue
            split, relevant = linked[0]
            number = int(question["question_number"])
            contents.ask(
                f"odsum-story-{line:03d}-{number}",
                question["question_text"],
                [response["response_text"] for response in responses],
                split=split,
                kind="general" if number == 1 else "specific",
                relevant=relevant,
            )
    if n_unlinked:
        note = f"{n_unlinked} queries share no response with a story and are left out"
        contents.notes.append(note)


def read_odsum_meeting(source: Path) -> Contents:
    """Read ODSum-Meeting: transcripts unchanged; `meetings_list` names the relevant ones.

    The official file has no splits. All queries are imported as 'dev', since they have been used
    for development and are no untouched test split.
    """
    file = needed_file(source, _MEETING_FILES, "queries.json")
    texts = _transcripts(source)
    if not texts:
        raise missing(source, _MEETING_FILES)
    empty = sorted(name for name, text in texts.items() if not text.strip())
    contents = Contents(
        [Document(name, "", text) for name, text in sorted(texts.items()) if text.strip()]
    )
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
            relevant=[name for name in map(slug, row["meetings_list"]) if name not in empty],
        )
    contents.notes.append("the source has no splits; all queries are imported as dev")
    if empty:
        contents.notes.append(
            f"{len(empty)} of {len(texts)} transcripts are empty ({', '.join(empty)}) and left "
            "out, also of the relevant documents"
        )
    return contents


def _transcripts(source: Path) -> dict[str, str]:
    """Return texts by meeting name, from the archive or the extracted folder."""
    folder = source / "Documents"
    if folder.is_dir():
        return {slug(p.stem): p.read_text(encoding="utf-8") for p in folder.glob("*.txt")}
    archive = source / "Documents.tar.gz"
    if not archive.is_file():
        return {}
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


ODSUM_STORY = Benchmark("ODSum stories", "story", _STORY_FILES, read_odsum_story)
ODSUM_MEETING = Benchmark("ODSum meetings", "meeting", _MEETING_FILES, read_odsum_meeting)
