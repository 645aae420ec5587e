"""Sentences of answers that are shown under a speaker's name, held against the transcripts.

    python -m benchmarks.attribution HOME [BEFORE] [--texts]

Prints a table for each corpus of HOME with a row for each method: attributed sentences, those that
the innermost and the outermost name before them did not say, answers with two names in a row,
sentences whose words are in no document, and ROUGE. With the home of an earlier version as BEFORE,
each cell has the values of both. `--texts` adds the texts that methods read or pass on: reports,
descriptions, facts, responses.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gsum_assets.evaluation.quotations import Speakers, Verdict
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore

NAMES = ("attributed", "innermost wrong", "outermost wrong", "two names")
COLUMNS = ("sentences", *NAMES, "no source")
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
TEXTS = {
    "graphrag.entity_mentions": "description",
    "graphrag.relationship_mentions": "description",
    "graphrag.claims": "description",
    "graphrag.entities": "description",
    "graphrag.relationships": "description",
    "graphrag.community_reports": "text",
    "graphrag.findings": "explanation",
    "graphrag.partial_answers": "answer",
    "graphrag.reduced_contexts": "text",
    "gor.historical_responses": "text",
    "gae.refined_contexts": "text",
    "jerr.synopses": "synopsis",
    "jerr.atomic_facts": "statement",
    "jerr.pages": "gist",
    "contexts": "text",
}


class Home:
    """The tables of a home."""

    def __init__(self, path: Path) -> None:
        self._store = ParquetStore(str(path / "warehouse"))
        self.corpora = sorted({p.corpus for p in self._store.partitions(TABLES["summaries"])})

    def rows(self, table: str, corpus: str, columns: Sequence[str]) -> dict[str, list[dict]]:
        found: dict[str, list[dict]] = defaultdict(list)
        for partition in self._store.partitions(TABLES[table], corpus):
            rows = self._store.read(TABLES[table], [partition], columns)[0].to_pylist()
            found[partition.method or ""] += rows
        return found

    def speakers(self, corpus: str) -> Speakers:
        return Speakers(row["text"] for row in self.rows("documents", corpus, ["text"])[""])

    def answers(self, corpus: str, speakers: Speakers) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for method, rows in self.rows("summaries", corpus, ["text"]).items():
            found[method] = counted((row["text"] for row in rows), speakers)
        for method, rows in self.rows("scores", corpus, ["metric", "value"]).items():
            for metric, name in METRICS.items():
                values = [row["value"] for row in rows if row["metric"] == metric]
                if values and method in found:
                    found[method][name] = 100 * sum(values) / len(values)
        return found

    def texts(self, corpus: str, speakers: Speakers) -> dict[str, dict[str, float]]:
        return {
            table: counted((row[column] for rows in by.values() for row in rows), speakers)
            for table, column in TEXTS.items()
            if (by := self.rows(table, corpus, [column]))
        }


def counted(texts: Iterable[str], speakers: Speakers) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for text in texts:
        sentences = list(speakers.shown(text))
        counts["two names"] += any(len(s.names) > 1 for s in sentences)
        for sentence in sentences:
            verdict = speakers.verdict(sentence)
            counts["sentences"] += 1
            counts["attributed"] += bool(sentence.names)
            counts["innermost wrong"] += verdict == Verdict.WRONG
            counts["no source"] += verdict == Verdict.ELSEWHERE
            if sentence.names:
                outermost = speakers.verdict_for(sentence.words, sentence.names[0])
                counts["outermost wrong"] += outermost == Verdict.WRONG
    return {name: float(counts[name]) for name in COLUMNS}


def table(now: Mapping, before: Mapping, names: Sequence[str]) -> Iterator[str]:
    yield f"| | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for row in sorted(now):
        cells = [_cell(now[row].get(n), before.get(row, {}).get(n)) for n in names]
        yield f"| `{row}` | {' | '.join(cells)} |"


def _cell(value: float | None, before: float | None) -> str:
    shown = [f"{v:.1f}".removesuffix(".0") for v in (before, value) if v is not None]
    return " → ".join(dict.fromkeys(shown)) or "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    now, before = Home(options.home), Home(options.before) if options.before else None
    for corpus in now.corpora:
        speakers = now.speakers(corpus)
        earlier = before.answers(corpus, speakers) if before else {}
        rows = table(now.answers(corpus, speakers), earlier, [*COLUMNS, *METRICS.values()])
        print(f"\n## {corpus}\n", *rows, sep="\n")
        if options.texts:
            earlier = before.texts(corpus, speakers) if before else {}
            rows = table(now.texts(corpus, speakers), earlier, COLUMNS)
            print(f"\n### {corpus}, texts\n", *rows, sep="\n")


if __name__ == "__main__":
    main()
