"""A corpus of three short documents with seven questions, made up."""

import json
from pathlib import Path

METHODS = ["bm25", "dense", "gor"]
SETTINGS = """\
[scores]
bertscore = false  # which needs a network of its own
[chunking]
max_tokens = 48
overlap_tokens = 0
[retrieval]
k = 2
[answer]
max_words = 25
[gor.simulation]
n_queries = 4
[gor.training]
epochs = 5
"""
TEXTS = {
    "mill": "The mill at Quarry Landing was built in 1846 by the Marsh family. Its wheel drove two "
    "stones until the great flood of 1872. Ann Marsh bought the ruin in May and had the wheel "
    "repaired with oak from the shipyard. The first flour was ground in October. Walkers who come "
    "by the ferry buy most of it.",
    "ferry": "The ferry has crossed the sound since 1901. In March its pump broke and the crossing "
    "closed for six weeks. Bob Teal ordered a new pump from the shipyard for nine hundred pounds. "
    "The harbour board paid it from the winter fund. The ferry sailed again in May with a full "
    "deck of walkers.",
    "library": "The library stands beside the school. Its roof leaked in the autumn storms and "
    "forty books were ruined. Cleo Hart carried the dry books to the gymnasium. The council "
    "promised a slate roof and paid for it from the winter fund. Children read more in the "
    "gymnasium than they ever did in the old room.",
}
QUESTIONS = [
    ("built", "When was the mill built?", "The mill was built in 1846."),
    ("pump", "What broke on the ferry?", "The pump of the ferry broke in March."),
    ("paid", "Who paid for the pump?", "The harbour board paid it from the winter fund."),
    ("books", "What happened to the books?", "Forty books were ruined, the dry ones were moved."),
    ("oak", "What was the wheel repaired with?", "The wheel was repaired with oak."),
    ("fund", "What did the winter fund pay for?", "A pump for the ferry and a slate roof."),
    ("flour", "Who buys the flour?", "Walkers who come by the ferry."),
]


def write_corpus(folder: Path) -> None:
    """Write documents, questions and settings."""
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text + "\n")
    (folder / "corpus.toml").write_text(SETTINGS)
    lines = (
        json.dumps({"query_id": name, "text": text, "references": [reference]})
        for name, text, reference in QUESTIONS
    )
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
