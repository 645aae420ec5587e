"""ROUGE of our extractive answers and of LexRank, TextRank and LSA of the package `sumy`.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.summarizer [--words 130]

Every side summarizes the same contexts at the same length: the 6 best 256-token chunks (32
overlap) of each QMSum meeting for its first general question and its topic list (Graph of
Records, A.4), by MiniLM. `sumy` gets the chunks as they are, and in the rows "our reading" the
sentences that our splitter and trimmer make of them, so that ranking is compared alone. ROUGE is
F1 with stemming; intervals are 95% bootstrap intervals over meetings. `--contexts FILE` keeps
the retrieved contexts for another run: embedding all chunks takes most of the time.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks import Measurement, required
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.corpus.chunk import chunk_by_tokens, default_tokenizer
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.llm.classical.sentences import read_sentences
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import Completion, Embedder, Request

RETRIEVED = 6
CONTROL = "first words"
METRICS = ("rouge1", "rougeL", "rouge2")


@dataclass(frozen=True)
class Case:
    """A general question, its retrieved chunks (best first), their positions and the reference."""

    question: str
    passages: tuple[str, ...]
    positions: tuple[int, ...]
    reference: str


def retrieve(split: str, embedder: LocalEmbedder) -> list[Case]:
    """The first general question of every meeting with its contexts."""
    contents = read_qmsum(required("qmsum", f"{split}.jsonl.gz"))
    general = {}
    for query in contents.queries:
        if query.kind == "general":
            general.setdefault(query.document_id, query)
    cases = []
    for document in contents.documents:
        query = general[document.document_id]
        chunks = chunk_by_tokens(document.document_id, document.text, default_tokenizer())
        texts = [chunk.text for chunk in chunks]
        scores = embedder.embed(texts) @ embedder.embed_queries([query.retrieval_text])[0]
        best = np.argsort(-scores, kind="stable")[:RETRIEVED]
        cases.append(
            Case(
                query.text, tuple(texts[i] for i in best), tuple(best.tolist()), query.references[0]
            )
        )
    return cases


def load_cases(split: str, embedder: LocalEmbedder, kept: Path | None) -> list[Case]:
    """The cases of a split, from the file of an earlier run if there is one."""
    if kept and kept.exists():
        rows = json.loads(kept.read_text(encoding="utf-8"))
        return [Case(**{**row, "passages": tuple(row["passages"])}) for row in rows]
    cases = retrieve(split, embedder)
    if kept:
        kept.write_text(json.dumps([asdict(case) for case in cases]), encoding="utf-8")
    return cases


class PlainTokenizer:
    """For sumy, whose own tokenizer needs a download."""

    def to_sentences(self, paragraph: str) -> list[str]:
        """Split after closing punctuation and at line ends."""
        return [s.strip() for s in re.split(r"(?<=[.?!])\s+|\n", paragraph) if s.strip()]

    def to_words(self, sentence: str) -> list[str]:
        """Runs of letters."""
        return re.findall(r"[^\W\d_]+(?:'\w+)?", sentence)


def sumy_summary(summarizer: Any, text: str, words: int) -> str:
    """The number of best sentences whose length comes nearest to `words`."""
    from sumy.parsers.plaintext import PlaintextParser

    document = PlaintextParser.from_string(text, PlainTokenizer()).document
    best = ""
    for count in range(1, len(document.sentences) + 1):
        summary = " ".join(str(sentence) for sentence in summarizer(document, count))
        if abs(len(summary.split()) - words) > abs(len(best.split()) - words):
            break
        best = summary
    return best


def sumy_summarizers() -> dict[str, Any]:
    """LexRank, TextRank and LSA with sumy's stemmer and stop words."""
    from sumy.nlp.stemmers import Stemmer
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.lsa import LsaSummarizer
    from sumy.summarizers.text_rank import TextRankSummarizer
    from sumy.utils import get_stop_words

    summarizers: dict[str, Any] = {}
    for kind in (LexRankSummarizer, TextRankSummarizer, LsaSummarizer):
        summarizers[kind.__name__[:-10]] = kind(Stemmer("english"))
        summarizers[kind.__name__[:-10]].stop_words = get_stop_words("english")
    return summarizers


def in_document_order(case: Case) -> Case:
    """The same chunks in document order."""
    order = np.argsort(case.positions)
    return replace(case, passages=tuple(case.passages[i] for i in order))


def our_summaries(model: ExtractiveModel, cases: list[Case], words: int) -> list[str]:
    """Answers of the extractive model."""
    requests = [
        Request("answer", "", case.question, case.passages, max_words=words) for case in cases
    ]
    completions = model.complete(requests)
    assert all(isinstance(completion, Completion) for completion in completions)
    return [c.text for c in completions if isinstance(c, Completion)]


def trimmed(case: Case) -> str:
    """The contexts as our splitter and trimmer read them, one sentence a line."""
    sentences = read_sentences(case.passages)
    return "\n".join(f"{s.speaker}: {s.text}" if s.speaker else s.text for s in sentences)


def rouge(cases: list[Case], summaries: list[str]) -> np.ndarray:
    """F1 in percent, `(n_cases, 3)`, columns as in `METRICS`."""
    from rouge_score.rouge_scorer import RougeScorer

    from gsum_assets.evaluation.rouge import Tokenizer

    scorer = RougeScorer(list(METRICS), tokenizer=Tokenizer())
    scored = [scorer.score(c.reference, s) for c, s in zip(cases, summaries, strict=True)]
    return np.array([[100 * row[metric].fmeasure for metric in METRICS] for row in scored])


def first_words(case: Case, words: int) -> str:
    """The cheapest control: what the best chunk begins with."""
    return " ".join(" ".join(case.passages).split()[:words])


def rows_of(sides: Mapping[str, tuple[np.ndarray, list[str]]]) -> list[list[str]]:
    """Rows of all sides compared with the control by ROUGE-1, means of the others, mean length.

    Parameters
    ----------
    sides : scores, `(n_cases, 3)` in percent, and summaries, by name.
    """
    first = {name: scores[:, 0].tolist() for name, (scores, _) in sides.items()}
    rows = []
    for row, (scores, summaries) in zip(compared(first, CONTROL, 1), sides.values(), strict=True):
        length = np.mean([len(summary.split()) for summary in summaries])
        rows.append([*row, *(f"{mean:.2f}" for mean in scores.mean(axis=0)[1:]), f"{length:.1f}"])
    return rows


def measure(split: str = "val", words: int = 130, contexts: Path | None = None) -> Measurement:
    """ROUGE of every side on one split.

    Raises
    ------
    MissingDataError
        If QMSum is not there.
    """
    warnings.filterwarnings("ignore", module="sumy")  # LSA on short contexts
    embedder = LocalEmbedder(threads=2)
    model = ExtractiveModel(cast(Embedder, embedder))
    cases = load_cases(split, embedder, contexts)
    ordered = [in_document_order(case) for case in cases]
    sides: dict[str, Callable[[], list[str]]] = {
        CONTROL: lambda: [first_words(case, words) for case in cases],
        "gsum, best first": lambda: our_summaries(model, cases, words),
        "gsum, document order": lambda: our_summaries(model, ordered, words),
    }
    for name, summarizer in sumy_summarizers().items():
        sides[name] = lambda s=summarizer: [
            sumy_summary(s, "\n".join(case.passages), words) for case in cases
        ]
        sides[f"{name}, our reading"] = lambda s=summarizer: [
            sumy_summary(s, trimmed(case), words) for case in cases
        ]
    found = {name: side() for name, side in sides.items()}
    scored = {name: (rouge(cases, summaries), summaries) for name, summaries in found.items()}
    return Measurement(
        f"ROUGE: the extractive model beside sumy, QMSum {split}",
        f"{len(cases)} meetings, about {words} words from the same {RETRIEVED} chunks; F1 in "
        f"percent, mean, difference and p of ROUGE-1 ({CONTROL!r} is the control, Holm).",
        ["", *COMPARED, *METRICS[1:], "words"],
        rows_of(scored),
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--split", choices=("val", "train"), default="val")
    parser.add_argument("--words", type=int, default=130)
    parser.add_argument("--contexts", type=Path, help="file that keeps the retrieved contexts")
    chosen = parser.parse_args()
    publish("summarizer", measure(chosen.split, chosen.words, chosen.contexts), chosen.store)


if __name__ == "__main__":
    main()
