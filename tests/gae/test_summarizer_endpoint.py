"""Topics, reflection and refinement over a real HTTP server."""

import json
from pathlib import Path

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.gae.prompts import CONDENSE, EDIT, REDUCE
from gsum_assets.gae.refine import refined_contexts
from gsum_assets.gae.reflect import reflections
from gsum_assets.gae.topics import topics
from tests.evaluation.judges.scripted_judges import judging
from tests.gae.toy_contexts import BRIDGE, COOKING, QUESTION, SETTINGS, contexts, queries
from tests.servers.replies import wanted_schema

LETTER = BRIDGE.replace("bridge", "letter")
CLUSTERS = {"c1": 0, "c2": 1, "c3": 0}


def says(body: dict) -> str:
    """High for the bridge, low for the soup; of the letter no number can be had."""
    instructions, shown = (message["content"] for message in body["messages"][:2])
    fields = (wanted_schema(body) or {"properties": {}})["properties"]
    relevance = 9 if BRIDGE in shown else 2
    if "topic" in fields:
        return json.dumps({"topic": "Bridges", "relevance": relevance})
    if "score" in fields:
        return "eleven or so" if LETTER in shown else json.dumps({"score": relevance})
    opening = (prompt.splitlines()[0] for prompt in (EDIT, CONDENSE, REDUCE))
    edited, condensed, reduced = (instructions.startswith(line) for line in opening)
    if edited:
        return f"Edited: {BRIDGE if BRIDGE in shown else LETTER}"
    return "They ate soup." if reduced else "Condensed." if condensed else f"Read: {shown}"


def test_low_grade_is_shortened_and_a_bad_reply_costs_only_its_row(tmp_path: Path) -> None:
    questions, found = queries({"q": QUESTION}), contexts({"q": [BRIDGE, COOKING, LETTER]})
    with judging(tmp_path, says, max_repairs=1) as (model, server):
        about = topics(found, CLUSTERS, questions, model, SETTINGS, n_word_pieces)
        own = reflections(found, questions, model)
        refined = refined_contexts(
            found, about.rows, own.rows, CLUSTERS, questions, model, SETTINGS, 120, n_word_pieces
        )
        answer = answer_questions(questions, refined.rows, model, 120).rows["text"][0].as_py()
        n_requests = len(server.lines("/chat/completions"))
    assert about.rows.select(["cluster", "relevance", "n_read"]).to_pylist() == [
        {"cluster": 0, "relevance": 9, "n_read": 2},
        {"cluster": 1, "relevance": 2, "n_read": 1},
    ]
    assert own.rows["node_id"].to_pylist() == ["c1", "c2"]
    (problem,) = own.failures
    assert problem.startswith("question 'q', passage 'c3': not judged: ")
    assert "it holds no JSON" in problem
    rows = refined.rows.to_pylist()
    # the letter has its topic's relevance alone
    assert [row["score"] for row in rows] == [9.0, 2.0, 9.0]
    assert [row["grade"] for row in rows] == ["high", "low", "high"]
    assert [row["fate"] for row in rows] == ["edited", "reduced", "edited"]
    assert rows[1]["text"] == "They ate soup."
    assert (rows[1]["node_id"], rows[1]["document_id"], rows[1]["position"]) == ("c2", "d2", 7)
    assert rows[1]["tokens_after"] == 4 < rows[1]["tokens_before"]
    assert all(row["tokens_in"] > 0 and row["model"] == "judge" for row in rows)
    assert n_requests == 2 + (3 + 1) + 3 + 1
    assert f"They ate soup. Edited: {LETTER}" in " ".join(answer.split())  # without numbers
    assert COOKING not in answer
