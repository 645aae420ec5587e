"""Graph of Records as assets: made when asked for; new documents do not train it again."""

from dataclasses import replace

from gsum_resources.protocols import Completion, CompletionError, Request
from tests.conftest import House, document_in, made_by
from tests.models import FirstWords

SETTINGS = """
[gor.simulation]
n_queries = 3
k = 2
[gor.training]
epochs = 2
"""


class Asker(FirstWords):
    """Asks about the names at the beginning of a passage, and answers with its first words."""

    def _one(self, request: Request) -> Completion | CompletionError:
        reply = super()._one(request)
        if request.task != "question" or isinstance(reply, CompletionError):
            return reply
        words = reply.text.split()
        return replace(reply, text=f"Why did the {words[1]} of {words[3]} meet the {words[6]}?")


def test_nothing_of_it_is_made_unless_asked_for(house: House) -> None:
    made = made_by(house.run(["bm25"]))
    assert not [asset for asset in made if asset.startswith("gor/")]


def test_a_new_document_gets_embeddings_from_the_model_there_is(house: House) -> None:
    house.model = Asker()
    (house.folder / "corpus.toml").write_text(SETTINGS)
    report = house.run(["gor", "thought-retriever"])
    assert report.errors == []
    assert {"gor", "thought-retriever"} <= set(house.table("leaderboard")["method"].to_pylist())
    assert house.table("gor.training_log").num_rows == 2
    weights = house.table("gor.model")["weights"].to_pylist()
    assert len(weights) == 1  # a baseline without a network has none
    new = document_in(5, 1)
    house.write_document(new)
    made = made_by(house.run())
    assert "gor/record_nodes[05]" in made
    assert "gor/node_embeddings[gor]" in made
    assert "gor/model[gor]" not in made
    assert house.table("gor.model")["weights"].to_pylist() == weights
    assert new in set(house.table("gor.node_embeddings")["document_id"].to_pylist())
    assert house.run().made == []
