"""Quality of methods on a benchmark, retrieval and answers, paired by question with a control.

    python -m benchmarks.quality --home HOME --data qmsum --methods bm25,dense,evidence
    python -m benchmarks.quality --home HOME --data odsum-story --metrics p@8,r@10
        --settings "scores.cut_offs = [3, 8, 10, 50]" --methods bm25,gae --store gae-stories

The questions of a split are imported as a corpus of HOME, `gsum run` answers them by every method
with the models that HOME's `gsum.toml` names (the embedded ones by default), and each kind of
question has a table of the metrics in `scores`. HOME is created by the first run; the next ones
compute what is missing.

Several `--settings`, each a list of lines of `corpus.toml` separated by ';', make a corpus each;
the rows of a method are then named `METHOD; SETTINGS`. With `--equal-tokens 1,2,3,6,9,12,20,30` a
method is compared, question by question, with the control that reads at least as many tokens; it
answers with each of these numbers of passages in a corpus of its own.
"""

import os
import random
import subprocess
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import gsum
from benchmarks import Measurement, required
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.corpus.importers import BENCHMARKS
from gsum_assets.corpus.importers.benchmark import Contents, write_corpus
from gsum_assets.corpus.queries import Query
from gsum_resources.store.content_hash import hash_texts

ALL = "all"
TOKENS = "context_tokens"
METRICS = (
    *("rouge1", "rouge2", "rougeL", "bertscore_f1", "accuracy", "token_f1", "coverage"),
    *("p@3", "p@8", "r@10", "chunk_r@6", "context_p", "context_r", TOKENS),
)
Scores = Mapping[str, Mapping[str, float]]
"""By metric and question."""


class DataSet(NamedTuple):
    """Official files in the folder of datasets, and the split that is measured by default.

    Attributes
    ----------
    parts : of the path; `{split}` stands for the split where each has a file of its own.
    """

    parts: Sequence[str]
    split: str


DATA = {
    "qmsum": DataSet(("qmsum", "{split}.jsonl.gz"), "val"),
    "squality": DataSet(("squality", "{split}.jsonl.gz"), "dev"),
    "odsum-story": DataSet(("odsum", "story"), ALL),
    "odsum-meeting": DataSet(("odsum", "meeting"), ALL),
    "graphrag-bench": DataSet(("graphrag_bench",), "dev"),
}


class Row(NamedTuple):
    """Scores of one method under one list of settings.

    Attributes
    ----------
    scores : of the stored answers.
    by_k : of the answers from other numbers of passages.
    """

    scores: Scores
    by_k: Mapping[int, Scores]


def subset(
    contents: Contents, split: str, n_documents: int | None, n_questions: int | None
) -> Contents:
    """Return the questions of a split, with the first documents and a sample of each kind.

    Parameters
    ----------
    n_documents : the questions about others are left out; None: all.
    n_questions : of each kind at most, drawn by seed 0; None: all.
    """
    documents = contents.documents[:n_documents]
    known = {document.document_id for document in documents}
    queries = [
        query
        for query in contents.queries
        if split in (ALL, query.split) and (n_documents is None or known.issuperset(_about(query)))
    ]
    if n_questions is not None:
        drawn = set()
        for kind in sorted({query.kind for query in queries}):
            ids = sorted(query.query_id for query in queries if query.kind == kind)
            drawn.update(random.Random(0).sample(ids, min(n_questions, len(ids))))
        queries = [query for query in queries if query.query_id in drawn]
    return replace(contents, documents=documents, queries=queries)


def _about(query: Query) -> Sequence[str]:
    return [query.document_id] if query.document_id else query.relevant_document_ids


def toml_of(settings: str) -> str:
    """Return lines separated by ';' as those of a file, BERTScore off unless they mention it."""
    lines = [line.strip() for line in settings.split(";") if line.strip()]
    if not any(line.startswith("scores.bertscore") for line in lines):
        lines.append("scores.bertscore = false")
    return "".join(f"{line}\n" for line in lines)


def answer_all(home: Path, corpora: Sequence[str], methods: Sequence[str]) -> None:
    """Bring corpora up to date by `gsum run`, whose output goes to the standard error."""
    command = [str(Path(sys.executable).with_name("gsum")), "run", *corpora]
    command += ["--methods", ",".join(methods)]
    environment = {**os.environ, "GSUM_HOME": str(home)}
    if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode:
        sys.exit(f"'{' '.join(command)}' failed in {home}; its last lines say why")


def row_of(home: Path, corpus: str, method: str) -> Row:
    """Return the stored scores of a method."""
    stored: dict[str, dict[str, float]] = defaultdict(dict)
    columns = ["query_id", "metric", "value"]
    rows = gsum.open(home).table("scores", corpus, method, columns)
    for query_id, metric, value in rows[columns].itertuples(index=False):
        stored[metric][query_id] = value
    return Row(stored, {})


def at_equal_tokens(control: Row, method: Row) -> Scores:
    """Return the control's scores of the least number of passages with as many tokens.

    Where none has as many, those of the largest number count.
    """
    chosen: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, n_tokens in method.scores.get(TOKENS, {}).items():
        ks = [k for k in sorted(control.by_k) if query_id in control.by_k[k].get(TOKENS, {})]
        enough = [k for k in ks if control.by_k[k][TOKENS][query_id] >= n_tokens]
        for k in enough[:1] or ks[-1:]:
            for metric, scores in control.by_k[k].items():
                if query_id in scores:
                    chosen[metric][query_id] = scores[query_id]
    return chosen


def grouped(queries: Sequence[Query], together: bool) -> dict[str, list[str]]:
    """Return the ids of questions by kind, or of all."""
    groups: dict[str, list[str]] = defaultdict(list)
    for query in sorted(queries, key=lambda query: "" if together else query.kind):
        groups["all" if together else query.kind].append(query.query_id)
    return groups


def tables(
    rows: Mapping[str, Row],
    questions: Mapping[str, Sequence[str]],
    control: str,
    metrics: Sequence[str],
    notes: str,
    equal_tokens: bool = False,
) -> Iterator[Measurement]:
    """Yield a table for each group of questions: every metric that the control has, by method.

    Parameters
    ----------
    questions : ids by the name of a group.

    Raises
    ------
    ValueError
        If the control has none of the metrics.
    """
    present = [metric for metric in metrics if metric in rows[control].scores]
    if not present:
        stored = ", ".join(sorted(rows[control].scores))
        raise ValueError(f"'{control}' has none of {', '.join(metrics)}; it has: {stored}")
    matched = {
        name: at_equal_tokens(rows[control], row)
        for name, row in rows.items()
        if equal_tokens and name != control
    }
    paired = f"paired with {control}{' that reads at least as many tokens' * equal_tokens}"
    for group, ids in questions.items():
        cells = []
        for metric in present:
            values = {n: _of(ids, row.scores.get(metric, {})) for n, row in rows.items()}
            controls = {n: _of(ids, scores.get(metric, {})) for n, scores in matched.items()}
            given = values[control]
            values = {n: v for n, v in values.items() if v.keys() & controls.get(n, given).keys()}
            if given:
                scale, decimals = (1, 0) if metric == TOKENS else (100, 2)
                table = compared(values, control, scale, decimals, controls)
                cells += [[metric, *row] for row in table]
        yield Measurement(
            f"{group} questions",
            f"{notes} Percent; tokens as they are; differences are {paired}; p of sign-flip "
            "tests, adjusted for the methods of a metric (Holm).",
            ["metric", "method", *COMPARED],
            cells,
        )


def _of(query_ids: Sequence[str], scores: Mapping[str, float]) -> dict[str, float]:
    return {query_id: scores[query_id] for query_id in query_ids if query_id in scores}


def main() -> None:
    """Import, answer, compare, print and store."""
    parser = parser_of(__doc__, "python -m benchmarks.quality", is_named=True)
    parser.add_argument("--home", type=Path, required=True, help="folder of its own")
    parser.add_argument("--data", choices=DATA, required=True)
    parser.add_argument("--split", help=f"by default {_defaults()}; '{ALL}' is every one")
    parser.add_argument("--methods", default="bm25,dense,hybrid", help="separated by commas")
    parser.add_argument("--control", help="row compared with; by default the first")
    parser.add_argument("--settings", nargs="+", default=[""], help="lines of corpus.toml, by ';'")
    parser.add_argument("--metrics", default=",".join(METRICS), help="of `scores`, by commas")
    parser.add_argument("--documents", type=int, help="take the first of them")
    parser.add_argument("--questions", type=int, help="of each kind at most, drawn by seed 0")
    parser.add_argument("--together", action="store_true", help="all kinds in one table")
    parser.add_argument("--equal-tokens", default="", help="numbers of passages, by commas")
    chosen = parser.parse_args()
    home, methods = chosen.home.resolve(), chosen.methods.split(",")
    if unknown := sorted(set(methods) - set(gsum.methods()["method"])):
        parser.error(f"no method '{unknown[0]}'; name methods of gsum.methods(), not families")
    data, benchmark = DATA[chosen.data], BENCHMARKS[chosen.data]
    split = chosen.split or data.split
    source = required(*(part.format(split=split) for part in data.parts))
    of_source = split if source.is_dir() else ALL  # a file of QMSum's val has questions of 'dev'
    contents = subset(benchmark.read(source), of_source, chosen.documents, chosen.questions)
    if not contents.queries:
        parser.error(f"{chosen.data} has no question of split '{split}' about these documents")
    corpora = {settings: _corpus(chosen, split, settings) for settings in chosen.settings}
    rows = {
        f"{method}; {settings}" if len(corpora) > 1 else method: (corpus, method)
        for settings, corpus in corpora.items()
        for method in methods
    }
    control = chosen.control or next(iter(rows))
    if control not in rows:
        parser.error(f"no control '{control}'; name one of: {', '.join(rows)}")
    control_corpus, control_method = rows[control]
    (of_control,) = (settings for settings, name in corpora.items() if name == control_corpus)
    ks = [int(k) for k in filter(None, chosen.equal_tokens.split(","))]
    with_k = {k: f"{of_control}; retrieval.k = {k}" for k in ks}
    of_k = {settings: _corpus(chosen, split, settings) for settings in with_k.values()}
    for settings, corpus in {**corpora, **of_k}.items():
        with_settings = replace(benchmark, settings=toml_of(settings) + benchmark.settings)
        write_corpus(with_settings, contents, home / "corpora" / corpus)
    answer_all(home, list(corpora.values()), methods)
    if of_k:
        answer_all(home, list(of_k.values()), [control_method])
    notes = f"{chosen.data}, split {split}: {len(contents.documents):,} documents"
    notes += f"; {chosen.settings[0]}." if len(corpora) == 1 and chosen.settings[0] else "."
    read = {name: row_of(home, *stored) for name, stored in rows.items()}
    by_k = {k: row_of(home, of_k[name], control_method).scores for k, name in with_k.items()}
    read[control] = read[control]._replace(by_k=by_k)
    measured = tables(
        read,
        grouped(contents.queries, chosen.together),
        control,
        chosen.metrics.split(","),
        notes,
        bool(ks),
    )
    publish(chosen.store or "quality", measured, bool(chosen.store))


def _corpus(chosen: Namespace, split: str, settings: str) -> str:
    """Return the name of the corpus of these options, so that no run replaces that of others."""
    options = f"{chosen.documents} {chosen.questions} {settings}"
    return f"{chosen.data}-{split}-{hash_texts([options], 3)}"


def _defaults() -> str:
    return ", ".join(f"{data.split} of {name}" for name, data in DATA.items())


if __name__ == "__main__":
    main()
