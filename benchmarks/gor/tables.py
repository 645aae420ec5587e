"""The tables: source ranks, answers, evidence read, number of simulated questions, order."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.gor.crossed import Difference, difference
from benchmarks.gor.records import DEV, Answers, Records
from benchmarks.gor.runs import Run, Trainer, measured
from gsum.statistics import holm
from gsum_assets.evaluation import answer

DENSE = "dense"
UNTRAINED = "gor-untrained"
TRAINED = (
    *("gor", "gor-published", "gor-paper", "gor-no-cl", "gor-no-rank", "gor-no-in-batch"),
    *("gor-supervised", "gor-gcn", "gor-sgc", "gor-gin", "gor-sage"),
)
BASELINES = ("random", "bm25", "tfidf", "rrf", DENSE, "full_context", "thought-retriever")
BASELINES += ("node2vec",)
STORED = "gor, stored model"
N_SIMULATED = (5, 10, 20, 30)
_ROUGE = {"rouge1": "R-1", "rouge2": "R-2", "rougeL": "R-L"}
_SEEDS = (
    "A trained row is the mean over {seeds} seeds of its training on {learnt} documents{halves} "
    "({steps} steps, batches of {batch}). Intervals are 95%, each by itself, paired with dense by "
    "question, and hold for other questions and other seeds; p is adjusted for the number of rows "
    "(Holm)."
)


def tables(trainer: Trainer, n_seeds: int) -> Iterator[Measurement]:
    """All tables of one corpus."""
    records = trainer.records
    plain = measured(records, records.unseen, [graph.features for graph in records.unseen])
    by_method = {method: trainer.runs(method, n_seeds) for method in TRAINED}
    how = _SEEDS.format(
        seeds=n_seeds,
        learnt=" and ".join(str(len(fold.learnt)) for fold in records.folds),
        steps=trainer.steps,
        batch=trainer.batch_graphs,
        halves="" if len(records.folds) == 1 else ", each measured on the others",
    )
    yield source_table(records, plain, by_method, how)
    answers = {name: [stored_answers(records, name)] for name in BASELINES}
    answers[UNTRAINED] = [plain.answers]
    answers |= {name: [run.answers for run in runs] for name, runs in by_method.items()}
    for kind in sorted(set(records.questions()["kind"].to_pylist())):
        yield answer_table(records, answers, kind, how)
        if any(row["relevant_chunk_ids"] for row in of_kind(records, kind)):
            yield evidence_table(records, answers, kind, how)
    by_number = {n: trainer.runs("gor", n_seeds, n) for n in N_SIMULATED}
    yield number_table(records, by_number, plain, answers[DENSE][0], how)


def source_table(
    records: Records, plain: Run, by_method: Mapping[str, Sequence[Run]], how: str
) -> Measurement:
    """Reciprocal rank of a simulated question's source."""
    dense = plain.among_chunks
    stored = stored_ranks(records)
    by_method = {**by_method, **({STORED: stored} if stored else {})}
    everything = {UNTRAINED: [plain], **by_method}
    rows, found = [], {}
    for method, runs in everything.items():
        chunks = np.array([run.among_chunks for run in runs])
        nodes = np.array([run.among_nodes for run in runs])
        both = (difference(chunks, dense), difference(nodes, dense))
        found[method] = (chunks, nodes, both)
    p_values = [holm([found[method][2][which].p_value for method in by_method]) for which in (0, 1)]
    rows.append([DENSE, _mean(np.array([dense])), "", "", _mean(np.array([dense])), "", ""])
    for method, (chunks, nodes, both) in found.items():
        at = list(by_method).index(method) if method in by_method else None
        cells = [method]
        for values, one, adjusted in zip((chunks, nodes), both, p_values, strict=True):
            p = one.p_value if at is None else adjusted[at]
            is_same = at is None and values is chunks  # the same vectors as dense
            cells += [_mean(values), *(("", "") if is_same else (_gain(one, 3), _p(p)))]
        rows.append(cells)
    n_documents = len(records.unseen)
    return Measurement(
        title=f"{records.corpus}: mean reciprocal rank of the passage that a question was asked of",
        notes=f"{len(dense):,} simulated questions of {n_documents} documents never learnt from. "
        "`dense` ranks passages by their texts' embeddings; a method is compared with it, also "
        f"where it ranks passages and responses together. {how}"
        + " The last row is the one model that the home holds, trained with the settings of the "
        "corpus." * bool(stored),
        header=(
            *("method", "among chunks", "− dense", "p"),
            *("among all nodes", "− dense over chunks", "p"),
        ),
        rows=rows,
    )


def stored_ranks(records: Records) -> list[Run]:
    """Of the model `gor` that `gsum run` trained, if the home has it; without answers."""
    rows = records.rows("gor.source_ranks", "gor").to_pylist()
    unseen = {row["query_id"]: row for row in rows if not row["is_learnt"]}
    query_ids = [str(query) for graph in records.unseen for query in graph.query_ids]
    if not set(query_ids) <= set(unseen):
        return []
    ranks = [
        [1 / unseen[query_id][name] for query_id in query_ids] for name in ("chunk_rank", "rank")
    ]
    return [Run(*ranks, answers={})]


def answer_table(
    records: Records, answers: Mapping[str, Sequence[Answers]], kind: str, how: str
) -> Measurement:
    """ROUGE of every method compared with dense."""
    query_ids = [row["query_id"] for row in of_kind(records, kind)]
    return _compared(
        f"{records.corpus}: answers to {kind} questions, ROUGE F1 in percent",
        f"{len(query_ids)} questions of documents never learnt from, six nodes read (full_context: "
        f"the document, in samples). {how}",
        answers,
        query_ids,
        _ROUGE,
    )


def evidence_table(
    records: Records, answers: Mapping[str, Sequence[Answers]], kind: str, how: str
) -> Measurement:
    """Evidence among what was read, and its tokens."""
    marked = [row["query_id"] for row in of_kind(records, kind) if row["relevant_chunk_ids"]]
    table = _compared(
        f"{records.corpus}: evidence among what was read for {kind} questions, percent",
        f"{len(marked)} questions with marked evidence; a response read counts as a passage "
        f"without evidence. Tokens are word pieces. {how}",
        answers,
        marked,
        {"evidence_p": "P@6", "evidence_r": "R@6"},
    )
    tokens = {
        method: f"{np.mean([[run[q]['tokens'] for q in marked] for run in runs]):,.0f}"
        for method, runs in answers.items()
    }
    rows = [[*row, tokens[row[0]]] for row in table.rows]
    return Measurement(table.title, table.notes, (*table.header, "tokens"), rows)


def number_table(
    records: Records,
    by_number: Mapping[int, Sequence[Run]],
    plain: Run,
    dense: Answers,
    how: str,
) -> Measurement:
    """Measure the effect of the number of simulated questions (the paper's figures 2 and 5)."""
    query_ids = [row["query_id"] for row in of_kind(records, "general")]
    control = [dense[q]["rougeL"] for q in query_ids]
    chunks = [np.array([run.among_chunks for run in runs]) for runs in by_number.values()]
    texts = [
        np.array([[run.answers[q]["rougeL"] for q in query_ids] for run in runs])
        for runs in by_number.values()
    ]
    columns = (
        [str(n) for n in by_number],
        [_mean(values) for values in chunks],
        *_gains([difference(values, plain.among_chunks) for values in chunks], 3),
        [f"{100 * values.mean():.2f}" for values in texts],
        *_gains([difference(values, control) for values in texts], 2, 100),
    )
    return Measurement(
        title=f"{records.corpus}: `gor` by the number of simulated questions a document",
        notes="The paper's figures 2 and 5 show ROUGE-L of general questions by this number. "
        f"n = {len(plain.among_chunks):,} simulated and {len(query_ids)} general questions. {how}",
        header=("questions", "MRR among chunks", "− dense", "p", "ROUGE-L", "− dense", "p"),
        rows=list(zip(*columns, strict=True)),
    )


def order_table(records: Records) -> Measurement:
    """Compare positions of responses among the passages of a prompt.

    On questions of the split train, or the development questions where there are none.
    """
    splits = ("train",) if "train" in records.queries["split"].to_pylist() else DEV
    queries = records.questions(splits)
    contexts = records.contexts("thought-retriever", queries)
    n_responses = contexts["node_kind"].to_pylist().count("response")
    found = {}
    stored = answer.reading_order
    try:
        for name, order in ORDERS.items():
            answer.reading_order = order
            found[name] = [records.answers(contexts, queries)]
    finally:
        answer.reading_order = stored
    return _compared(
        f"{records.corpus}: order of passages and responses in the prompt, ROUGE F1 in percent",
        f"{queries.num_rows} questions of the split {queries['split'][0].as_py()}; six nodes each "
        f"by `thought-retriever`, {n_responses / queries.num_rows:.1f} of them responses. "
        "Intervals are 95%, paired by question; p is adjusted for the number of rows (Holm).",
        found,
        queries["query_id"].to_pylist(),
        _ROUGE,
        control="by position, responses by their rank",
    )


def _ordered(key: Callable[[dict], tuple]) -> Callable[[Sequence[dict]], list[dict]]:
    return lambda passages: sorted(passages, key=key)


def _position(row: dict) -> int:
    return row["rank"] if row["position"] is None else row["position"]


ORDERS = {
    "by position, responses by their rank": _ordered(lambda row: (_position(row), row["text"])),
    "best first": _ordered(lambda row: (row["rank"],)),
    "passages by position, then responses": _ordered(
        lambda row: (row["position"] is None, _position(row), row["text"])
    ),
    "responses, then passages by position": _ordered(
        lambda row: (row["position"] is not None, _position(row), row["text"])
    ),
}
"""All of one document: its passages and responses."""


def stored_answers(records: Records, method: str) -> Answers:
    """Of a baseline, over the contexts that the home holds."""
    queries = records.questions()
    contexts = records.rows("contexts", method)
    wanted = set(queries["query_id"].to_pylist())
    contexts = contexts.filter(pa.array([q in wanted for q in contexts["query_id"].to_pylist()]))
    if not contexts.num_rows:
        raise ValueError(
            f"'{records.corpus}' has no contexts of {method}; run "
            f"`gsum run {records.corpus} --methods {','.join(BASELINES)}`"
        )
    return records.answers(contexts, queries)


def of_kind(records: Records, kind: str) -> list[dict]:
    """Rows of the development questions of one kind."""
    return [row for row in records.questions().to_pylist() if row["kind"] == kind]


def _compared(
    title: str,
    notes: str,
    answers: Mapping[str, Sequence[Answers]],
    query_ids: Sequence[str],
    metrics: Mapping[str, str],
    control: str = DENSE,
) -> Measurement:
    """Means in percent and differences from the control, three columns a metric."""
    others = [method for method in answers if method != control]
    columns: dict[str, dict[str, list[str]]] = {}
    for metric in metrics:
        values = {
            method: np.array([[run[q][metric] for q in query_ids] for run in runs])
            for method, runs in answers.items()
        }
        found = {m: difference(values[m], values[control][0]) for m in others}
        adjusted = dict(zip(others, holm([d.p_value for d in found.values()]), strict=True))
        columns[metric] = {
            m: [
                f"{100 * values[m].mean():.2f}",
                *((_gain(found[m], 2, 100), _p(adjusted[m])) if m in found else ("", "")),
            ]
            for m in answers
        }
    against = "dense" if control == DENSE else "first row"
    return Measurement(
        title,
        notes,
        ("method", *(c for name in metrics.values() for c in (name, f"− {against}", "p"))),
        [[m, *(cell for metric in metrics for cell in columns[metric][m])] for m in answers],
    )


def _mean(values: np.ndarray) -> str:
    """Mean, and the standard deviation over seeds where there are several."""
    if len(values) == 1:
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} (sd {values.mean(axis=1).std(ddof=1):.3f})"


def _gain(one: Difference, decimals: int, scale: float = 1) -> str:
    mean, low, high = (f"{scale * v:+.{decimals}f}" for v in (one.mean, one.low, one.high))
    return f"{mean} [{low}, {high}]"


def _gains(
    found: Sequence[Difference], decimals: int, scale: float = 1
) -> tuple[list[str], list[str]]:
    """Differences, and their p-values adjusted for their number."""
    adjusted = holm([one.p_value for one in found])
    return [_gain(one, decimals, scale) for one in found], [_p(p) for p in adjusted]


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
