"""Contexts of one or more questions, and a model that keeps what it was shown."""

from collections.abc import Sequence

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.pipeline.tables import TABLES
from tests.gor.toy_documents import Scripted
from tests.rows import question_rows, rows_of

QUESTION = "Why did the wooden bridge over the river break?"
PROMPT_TOKENS = 6000

BRIDGE = (
    "The railway company built a wooden bridge over the river Tamsel. An engineer called Brandt "
    "warned the company that the wooden bridge would break under heavy trains. In winter the "
    "wooden bridge broke under a coal train, because the beams of the bridge had begun to rot. Two "
    "drivers swam to the shore of the river, and the newspaper blamed the engineer for the bridge."
)
COOKING = (
    "To make the soup, peel six carrots and boil them with an onion and some thyme. Stir in cream "
    "when the carrots are soft, and add salt and pepper. Serve the soup with fresh bread and "
    "butter. It keeps for three days in a cold larder, and children like it with noodles. Some "
    "people add a spoon of honey, which goes well with the sweet taste of young carrots."
)


def queries(texts: dict[str, str], **fields: object) -> pa.Table:
    """Rows of `queries`: text by id."""
    rows = ({"query_id": i, "text": text, "retrieval_text": text} for i, text in texts.items())
    return question_rows(*rows, **fields)


def contexts(passages: dict[str, Sequence[str]]) -> pa.Table:
    """Rows of `contexts`: texts by question, best first; ids are c1, c2, …, documents d1, d2, …"""
    rows = (
        {"query_id": query_id, "rank": rank, "node_id": f"c{rank}", "document_id": f"d{rank}"}
        | {"position": 7, "score": 1 / rank, "text": text}
        for query_id, texts in passages.items()
        for rank, text in enumerate(texts, start=1)
    )
    return rows_of("contexts", rows)


def judged(name: str, relevances: dict[tuple[str, object], int]) -> pa.Table:
    """Rows of `gae.topics` or `gae.reflections`: relevance by question and cluster or passage."""
    second = {"gae.topics": "cluster", "gae.reflections": "node_id"}[name]
    fixed = {"topic": "t", "n_passages": 1, "n_read": 1, "model": "m", "calls": 1}
    fixed |= {"tokens_in": 0, "tokens_out": 0, "latency_s": 0.0, "cost_usd": 0.0}
    schema = TABLES[name].schema
    rows = [
        {"query_id": query_id, second: item, "relevance": relevance, **fixed}
        for (query_id, item), relevance in relevances.items()
    ]
    return pa.Table.from_pylist([{k: row[k] for k in schema.names} for row in rows], schema)


def prompt_lengths(questions: pa.Table, refined: pa.Table, max_words: int) -> list[int]:
    """Word pieces of every prompt that `answer_questions` builds from refined contexts."""
    model = Scripted(lambda request: "An answer.")
    answer_questions(questions, refined, model, max_words)
    return n_word_pieces([f"{r.instructions}\n\n{r.render()}" for r in model.requests])
