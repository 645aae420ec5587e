"""A condition restricts every method that can be restricted, and the others refuse it by name."""

import json

import pandas as pd
import pytest

import gsum
from gsum_assets.registry.families import FAMILIES

TEXTS = pd.DataFrame(
    [
        ("mill", "The mill was built in 1846. The boat came to the mill.", "minutes", "2024-05-01"),
        ("ferry", "In March the pump of the ferry broke. The boat is red.", "letter", "2023-05-01"),
        ("inn", "The inn closed in winter. Bram sold it the boat.", "minutes", "2022-05-01"),
    ],
    columns=["document_id", "text", "kind", "date"],
)
METHODS = ["bm25", "dense", "hybrid", "rrf", "tfidf", "random", "full_context"]
METHODS += ["evidence", "passage_walk", "lightpal", "gor", "gae"]


@pytest.mark.parametrize("method", METHODS)
def test_condition_restricts_the_documents_that_are_read(method: str) -> None:
    result = gsum.run(method, TEXTS, progress=False)

    def read(question: str, where: str) -> set[str]:
        return set(result.ask(question, where=where).contexts["document_id"])

    assert read("What about the boat?", "kind = 'minutes'") == {"mill", "inn"}
    assert read("What about the boat?", "kind = 'minutes' and date < '2023-01-01'") == {"inn"}
    assert read("What about the boat?", "") == {"mill", "inn", "ferry"}
    assert read("Summarize the documents.", "kind = 'letter'") == {"ferry"}
    named = read("What did Bram do according to Ferry?", "kind = 'minutes'")
    assert named <= {"mill", "inn"}  # a document that is named is not read beside the condition
    with pytest.raises(ValueError, match=r"no document .* fulfils: n_words > 99"):
        result.ask("What about the boat?", where="n_words > 99")
    with pytest.raises(ValueError, match="no document 'ferry'"):
        result.ask("What about the boat?", "ferry", where="kind = 'minutes'")


def test_frame_gives_metadata() -> None:
    documents = gsum.run("bm25", TEXTS, progress=False).tables["documents"]
    metadata = documents.set_index("document_id")["metadata"].map(json.loads)
    assert metadata["mill"] == {"kind": "minutes", "date": "2024-05-01"}


def test_methods_that_read_reports_refuse_a_condition() -> None:
    filtered = {name for family in FAMILIES for name in family.filtered}
    assert set(METHODS) <= filtered
    assert not filtered & {"graphrag-c0", "graphrag-local", "jerr"}
    result = gsum.run("jerr", TEXTS, progress=False)
    with pytest.raises(ValueError, match=r"method 'jerr' .* use one of: .*bm25.*evidence"):
        result.ask("What about the boat?", where="kind = 'minutes'")
