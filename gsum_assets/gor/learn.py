"""What a network learns from: the choice of training graphs, and of their questions."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph
from gsum_assets.graphs.bertscore import bertscore
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.arrow import pc

DEFAULT_SPLIT = "train"


def graphs_to_learn_from(
    graphs: list[RecordGraph], queries: pa.Table, split: str | None
) -> tuple[list[RecordGraph], str]:
    """Return the graphs to train on, and a sentence that describes them.

    They are of documents that questions of `split` ask about; None: of the split 'train' if there
    is one, otherwise of all documents.

    Raises `ValueError` if there is no such split.
    """
    splits = sorted(set(queries["split"].to_pylist()) - {None, ""})
    if split is None and DEFAULT_SPLIT not in splits:
        return graphs, (
            f"learnt from all {len(graphs)} documents: no question is of the split "
            f"'{DEFAULT_SPLIT}', so that no document is held out for evaluation"
        )
    split = split or DEFAULT_SPLIT
    if split not in splits:
        named = f"splits: {', '.join(splits)}" if splits else "no question names a split"
        raise ValueError(
            f"[gor.training] split = '{split}': there is no such split ({named}); name one of "
            "them, or leave `split` out"
        )
    document_ids = queries.filter(pc.equal(queries["split"], split))["document_id"].to_pylist()
    of_split = [graph for graph in graphs if graph.document_id in set(document_ids)]
    return of_split, f"learnt from {len(of_split)} documents, those of the split '{split}'"


def with_global_questions(
    graphs: list[RecordGraph],
    nodes: pa.Table,
    queries: pa.Table,
    query_embeddings: pa.Table,
    tokens: LocalTokenEmbedder,
) -> list[RecordGraph]:
    """Return the graphs with general questions, whose references rank the nodes (section 3.5).

    A question with several references is learnt from once with each; graphs without a general
    question that has a reference are left out.
    """
    texts = dict(zip(nodes["node_id"].to_pylist(), nodes["text"].to_pylist(), strict=True))
    asked: dict[str, list[tuple[str, str]]] = {}  # (query_id, reference) by document
    for row in queries.to_pylist():
        if row["kind"] == "general":
            pairs = [(row["query_id"], reference) for reference in row["references"]]
            asked.setdefault(row["document_id"], []).extend(pairs)
    with_questions = []
    for graph in graphs:
        if not asked.get(graph.document_id):
            continue
        ids, references = zip(*asked[graph.document_id], strict=True)
        distinct, question = np.unique(ids, return_inverse=True)
        f1 = bertscore(
            tokens.embed_tokens(references),
            tokens.embed_tokens([texts[node] for node in graph.node_ids]),
        ).f1  # (n_references, n_nodes)
        with_questions.append(
            replace(
                graph,
                queries=vectors_of(query_embeddings, distinct.tolist(), "query")[question],
                rankings=np.argsort(-np.round(f1, 6), axis=1, kind="stable"),
                sources=np.full(len(ids), NO_SOURCE),
                query_ids=np.array(ids),
            )
        )
    return with_questions
