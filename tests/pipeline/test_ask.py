"""A question over stored indexes: right scope, nothing made anew, clear errors."""

from collections.abc import Iterator

import pytest

from gsum_assets.ask import ask
from gsum_assets.corpus.settings import CorpusError
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import contents, house_at


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("ask")) as house:
        for bucket in (1, 2):
            house.write_document(document_in(bucket))
        house.write_queries([{"query_id": "q", "text": "Who met the clerk?"}])
        assert not house.run(["bm25", "dense", "full_context"]).errors
        yield house


@pytest.mark.parametrize("method", ["bm25", "dense", "full_context"])
def test_an_answer_with_its_passages_and_nothing_made_anew(indexed: House, method: str) -> None:
    before, embedded = contents(indexed), indexed.embedder.n_embedded
    answer = ask(indexed.pipeline(), CORPUS, f"Who met the lamp by {method}?", method)
    assert answer.text
    known = set(indexed.table("chunks")["text"].to_pylist())
    assert {passage["text"] for passage in answer.passages} <= known
    assert [p["rank"] for p in answer.passages] == list(range(1, len(answer.passages) + 1))
    assert contents(indexed) == before
    # the question's vector, where the method needs one; no chunk's
    assert indexed.embedder.n_embedded == embedded + (method == "dense")


def test_a_document_restricts_the_passages(indexed: House) -> None:
    document = document_in(2)
    answer = ask(indexed.pipeline(), CORPUS, "Who met the lamp?", "bm25", document)
    assert {passage["document_id"] for passage in answer.passages} == {document}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic'; choose from .*bm25"),
        ({"document_id": "tale-x"}, "no document 'tale-x'; it has 2, among them tale-"),
        ({"corpus": "nowhere"}, "corpus 'nowhere' has no table .*run `gsum run nowhere` first"),
        ({"question": "  "}, "the question is empty"),
    ],
)
def test_errors_name_object_and_remedy(indexed: House, change: dict, message: str) -> None:
    asked = {"corpus": CORPUS, "question": "Who?", "method": "bm25", **change}
    with pytest.raises(CorpusError, match=message):
        ask(indexed.pipeline(), **asked)
