"""GraphRAG-Bench, medical (Xiang et al., ICLR 2026): patient guides and four types of question."""

import hashlib
import re
from pathlib import Path

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import needed_file, read_json, read_rows
from gsum_assets.corpus.queries import Span

_FILES = "a folder with medical.json and medical_questions.json, or the official repository"
_FOLDERS = ("", "Datasets/Corpus/", "Datasets/Questions/", "Datas/Corpus/", "Datas/Questions/")
_HEADINGS = re.compile(r"Key points |\? ")  # a guide begins with its table of contents
_OPENING_CHARACTERS = 400
_TITLE_WORDS = 8


def _read_graphrag_bench(source: Path) -> Contents:
    """Read the medical guides as documents, with questions of the four types.

    Each distinct line of the official text of 1 MB is a guide, hence a document, so that an answer
    names its guide as source. The source has no splits: a guide with all of its questions is in dev
    or test by the hash of its text, since nearly equal questions are about the same guide.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    medical, questions = (
        needed_file(source, name, *(folder + name for folder in _FOLDERS))
        for name in ("medical.json", "medical_questions.json")
    )
    value = read_json(medical)  # an object, or a list of one
    (corpus,) = value if isinstance(value, list) else [value]
    lines = [line.strip() for line in corpus["context"].split("\n")]
    guides: dict[str, str] = {}
    for number, text in enumerate(lines, start=1):
        if text:
            guides.setdefault(text, f"guide-{number:02d}")
    contents = Contents()
    for text, guide in guides.items():
        headings = list(_HEADINGS.finditer(text[:_OPENING_CHARACTERS]))
        start = headings[-1].end() if headings else 0
        words = text[start : start + _OPENING_CHARACTERS].split()
        contents.add(guide, " ".join(words[:_TITLE_WORDS]), text)
    repeated = sum(map(bool, lines)) - len(guides)
    contents.counts["guides that occur twice in the corpus are imported once"] = repeated
    rows = [row for _, row in read_rows(questions, ("id", "question", "answer", "question_type"))]
    texts = list(guides)
    n_pieces = n_found = 0
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english", ngram_range=(1, 2))
    guide_vectors = vectorizer.fit_transform(texts)  # (n_guides, n_terms)
    question_vectors = vectorizer.transform([f"{row['question']} {row['answer']}" for row in rows])
    nearest_guides = (question_vectors @ guide_vectors.T).toarray().argmax(axis=1).tolist()  # type: ignore[attr-defined]
    for row, guide in zip(rows, nearest_guides, strict=True):
        evidence = row.get("evidence") or []  # some copies of the data have none
        pieces = [evidence] if isinstance(evidence, str) else evidence
        pieces = [piece for piece in pieces if piece.strip()]
        spans = [span for piece in pieces if (span := _located(piece, guides, texts[guide]))]
        n_pieces, n_found = n_pieces + len(pieces), n_found + len(spans)
        contents.ask(
            row["id"],
            row["question"],
            [row["answer"]],
            split=split_of_guide(texts[guide]),
            kind=slug(row["question_type"]).lower(),
            relevant_document_ids=[span.document_id for span in spans],
            relevant_spans=spans,
        )
    if n_pieces:
        contents.notes.append(f"{n_found} of {n_pieces} pieces of evidence are found in the guides")
    equal = len(rows) - len({row["question"] for row in rows})
    contents.counts["questions have the text of an earlier one; all are kept"] = equal
    return contents


def split_of_guide(text: str) -> str:
    """Return the split of the questions about a guide: 'dev' or 'test'."""
    return ("dev", "test")[hashlib.blake2b(text.encode(), digest_size=8).digest()[-1] % 2]


def _located(piece: str, guides: dict[str, str], nearest: str) -> Span | None:
    """Return the span of a piece of evidence, ignoring case and white space."""
    pattern = re.compile(r"\s+".join(map(re.escape, piece.split())), re.IGNORECASE)
    for text in (nearest, *guides):
        if match := pattern.search(text):
            return Span(guides[text], match.start(), match.end())
    return None


BENCHMARKS = {
    "graphrag-bench": Benchmark("GraphRAG-Bench, medical", "report", _FILES, _read_graphrag_bench)
}
