"""After a deletion no file of the home holds a sentence of the document; what is paid stays."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gsum_assets.cli import main as cli
from gsum_assets.forgetting.leftovers import find_leftovers, sentences_of
from gsum_assets.forgetting.replies import FORGOTTEN
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.forget import Forgotten, forget_corpus
from gsum_assets.refresh.forget import forget_deleted as forget_deleted_of
from gsum_assets.runner.forget import ForgetReport, forget, models_with
from gsum_assets.runner.methods import require_networks
from gsum_resources.dagster_io.instance_storage import storage_of
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.store.appended import read_appended
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, document_in, text_of
from tests.conftest import furnish as furnish_tales
from tests.pipeline.homes import WITHOUT_BERTSCORE, contents, copy_of, house_at, requests_by_asset
from tests.rows import write_rows

pytestmark = pytest.mark.slow

SECRET, OTHER = document_in(0), document_in(4)
TEXT = (
    "Captain Brandt sold the boat of the clerk to the widow Caldera in winter.\n"
    'The deed was signed at dawn beneath the crooked elm, "for a coin", in Tölver Street. '
    "Nobody met the clerk of Marrowby after that winter in the harbour."
)
NETWORK = Partition(CORPUS, method="gor")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home that answered questions on a document and on all."""
    with house_at(tmp_path_factory.mktemp("first")) as house:
        furnish_tales(house)
        house.model = ExtractiveModel(house.embedder)  # type: ignore[assignment] - quotes documents
        house.write_document(SECRET, f"{TEXT} {text_of(SECRET)}")
        house.write_queries(
            [
                {"query_id": "one", "text": "What was sold?", "document_id": SECRET},
                {"query_id": "two", "text": "Who met the lamp?", "document_id": OTHER},
                {"query_id": "all", "text": "What did Captain Brandt sell to the widow?"},
            ]
        )
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        assert house.run(["bm25"]).is_complete
        assert forget_deleted(house) is None
        yield house


@pytest.fixture
def indexed(first: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(first, tmp_path) as copy:
        yield copy


def forget_deleted(house: House) -> Forgotten | None:
    return forget_deleted_of(house.workspace)


def forgotten(house: House, document_id: str, retrain: bool = False) -> ForgetReport:
    with house.instance() as instance:
        return forget(house.pipeline(), instance, CORPUS, document_id, retrain)


def leftovers(house: House) -> set[str]:
    """Parts of the home that hold a sentence of the document: `state.db`, `documents`, …"""
    with house.instance() as instance:
        found = find_leftovers(house.home, CORPUS, sentences_of(TEXT), storage_of(instance))
    paths = [Path(leftover.path.removeprefix("sqlite:///")) for leftover in found]
    parts = [path.relative_to(house.home.root).parts[:2] for path in paths]
    return {part[-1] for part in parts}


def test_deleted_file_leaves_nothing_after_the_next_run(indexed: House) -> None:
    assert leftovers(indexed) >= {"documents", "chunks", "summaries", "state.db"}
    assert not {"history", "storage"} & leftovers(indexed)  # before and without forgetting
    arrays = ArrayCache(indexed.store, CORPUS)
    arrays.write("bm25-chunks", "1", {"data": np.zeros(1)})
    (indexed.folder / f"{SECRET}.txt").unlink()
    (indexed.folder / f"{OTHER}.txt").rename(indexed.folder / "renamed.txt")
    queries = indexed.folder / "queries.jsonl"
    queries.write_text(queries.read_text().replace(OTHER, "renamed"))
    assert forget_deleted(indexed) is None  # nothing is looked at yet
    before = requests_by_asset(indexed).total()
    assert indexed.run().is_complete
    assert leftovers(indexed) == {"state.db"}
    done = forget_deleted(indexed)
    assert done
    assert done.documents == {CORPUS: sorted([SECRET, OTHER])}
    # of a question about it, of one about all that showed it, and of the renamed one, whose name
    # the model was shown
    assert done.n_replies == 3
    assert leftovers(indexed) == set()
    assert arrays.read("bm25-chunks", "1") is None  # its words are hashed, their counts are not
    assert forget_deleted(indexed) is None
    # one about all was requested without it, and the renamed one by its new name; what was paid
    # before stays on record, without a name
    assert requests_by_asset(indexed).total() == before + 2
    ids = read_appended(indexed.store, TABLES["llm_calls"], CORPUS)["document_id"].to_pylist()
    assert {FORGOTTEN, "renamed", ""} == set(ids)


def test_forget_command_deletes_at_once_and_reports_leftovers(
    indexed: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = indexed.pipeline()
    monkeypatch.setattr("gsum_assets.runner.run.pipeline_for", lambda home: pipeline)
    removed = Partition(CORPUS, method="removed-method")
    write_rows(indexed.store, "summaries", removed, [{"query_id": "one", "text": TEXT}])
    said = CliRunner().invoke(cli.main, ["forget", CORPUS, SECRET, "--yes"])
    assert said.exit_code == 0, said.output
    assert "none is left under the home" in said.output
    assert "1 questions in queries.jsonl name it" in said.output
    assert leftovers(indexed) == set()
    assert not (indexed.folder / f"{SECRET}.txt").exists()
    for document_id in ("stranger", SECRET):
        said = CliRunner().invoke(cli.main, ["forget", CORPUS, document_id])
        assert said.exit_code == 1
        assert f"no document '{document_id}'; " in said.output
        assert "Delete document" not in said.output  # no confirmation before the check


@pytest.mark.parametrize("retrain", [False, True])
def test_model_of_a_corpus_is_reported_or_removed_for_training(
    indexed: House, retrain: bool
) -> None:
    table = TABLES["gor.model"]
    write_network(indexed)
    done = forgotten(indexed, SECRET, retrain)
    assert list(done.trained) == ([] if retrain else ["gor"])
    if retrain:  # the method is not requested here, so that nothing trains it again
        assert indexed.store.partitions(table, CORPUS) == []


def write_network(house: House) -> None:
    """Write a network of `gor` that learnt from the document."""
    row = {"learnt_from": [learnt_hash(SECRET)]}
    write_rows(house.store, "gor.model", NETWORK, [row], asset="gor/model")


def test_networks_are_named_by_method_family_or_all(indexed: House) -> None:
    workspace = indexed.workspace
    with pytest.raises(CorpusError, match=r"no network of all.*it has none"):
        require_networks(workspace, CORPUS, ["all"])
    write_network(indexed)
    with pytest.raises(CorpusError, match=r"no network of bm25 .*: gor"):
        require_networks(workspace, CORPUS, ["bm25"])
    with pytest.raises(CorpusError, match="unknown method 'evidense'"):
        require_networks(workspace, CORPUS, ["evidense"])
    for methods in (["gor"], ["all"]):
        assert require_networks(workspace, CORPUS, methods) == ["gor"]


def test_models_that_may_have_learnt_from_a_document_are_known_by_hashes(indexed: House) -> None:
    learnt_from = {
        "gor": [SECRET, OTHER],
        "gor-gcn": [OTHER],
        "gor-no-rank": ["its-earlier-name"],
        "gor-sage": None,  # no row
    }
    for method, documents in learnt_from.items():
        rows = [{"learnt_from": [learnt_hash(name) for name in documents]}] if documents else []
        write_rows(indexed.store, "gor.model", Partition(CORPUS, method=method), rows)
    found = models_with(indexed.store, CORPUS, SECRET)
    assert {model.method for _, model in found} == {"gor", "gor-no-rank"}
    assert {one.name for one, _ in found} == {"gor.model"}


def test_check_searches_again_with_a_copy_and_deletes_nothing(
    indexed: House, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = indexed.pipeline()
    monkeypatch.setattr("gsum_assets.runner.run.pipeline_for", lambda home: pipeline)
    outside = tmp_path_factory.mktemp("outside")  # the home
    kept = outside / "kept.md"
    shutil.copy(indexed.folder / f"{SECRET}.txt", kept)
    records = outside / "documents.jsonl"
    records.write_text(json.dumps({"document_id": SECRET, "text": kept.read_text()}) + "\n")

    def checked(original: Path, document_id: str = SECRET) -> tuple[int, str]:
        arguments = ["forget", CORPUS, document_id, "--check", str(original)]
        result = CliRunner().invoke(cli.main, arguments)
        return result.exit_code, " ".join(result.output.split())

    code, said = checked(kept)
    assert (code, f"'{SECRET}' is still in the folder" in said) == (1, True)
    assert forgotten(indexed, SECRET).is_clean
    before = contents(indexed)
    for original in (kept, records):
        code, said = checked(original)
        n = forgotten_sentences(kept)
        result = f"searched for its {n} own sentences: none is left under the home"
        assert (code, said.endswith(result)) == (0, True)
    left = indexed.home.root / "warehouse" / "notes.txt"
    left.write_text(f"> {TEXT.splitlines()[0]}")
    code, said = checked(kept)
    assert code == 1
    assert f"left over: {left} contains “Captain Brandt sold the boat" in said
    assert contents(indexed) == before
    left.unlink()
    short = outside / "short.txt"
    short.write_text("Too short. To search.")
    code, said = checked(short)
    assert (code, "no sentence of five words or more that no other" in said) == (1, True)
    code, said = checked(records, "stranger")
    assert (code, "documents.jsonl: no document 'stranger'" in said) == (1, True)


def forgotten_sentences(original: Path) -> int:
    return len(sentences_of(original.read_text(), [text_of(OTHER)]))


class Unavailable:
    """A model whose server is away."""

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def complete(self, *_: object) -> list:
        raise ModelUnavailableError("the server is away")


def test_outputs_that_cannot_be_rebuilt_are_deleted(indexed: House) -> None:
    expected = contents(indexed)
    model, indexed.model = indexed.model, Unavailable(indexed.model.identity)  # type: ignore[assignment]
    done = forgotten(indexed, SECRET)
    assert "the server is away" in (done.problem or "")
    assert done.removed
    assert done.n_replies == 2
    assert leftovers(indexed) == set()
    assert indexed.table("summaries").num_rows == 0
    indexed.model = model
    indexed.write_document(SECRET, f"{TEXT} {text_of(SECRET)}")
    assert indexed.run().is_complete
    assert contents(indexed) == expected  # and nothing else was lost


def test_last_document_needs_deletion_of_the_folder(first: House) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gsum_assets.runner.forget.read_records", lambda *_: iter(()))
        with pytest.raises(CorpusError, match=r"'tale-.*is the only document.*delete the folder"):
            forgotten(first, OTHER)
    assert (first.folder / f"{OTHER}.txt").exists()


def test_deleted_corpus_folder_leaves_nothing(indexed: House) -> None:
    shutil.rmtree(indexed.folder)
    forget_corpus(indexed.workspace, CORPUS)
    assert forget_deleted(indexed)
    assert leftovers(indexed) == set()
    assert not list(Path(indexed.store.root).glob(f"*/corpus={CORPUS}"))


def test_shared_sentences_are_not_counted_as_leftovers() -> None:
    text = "A sentence that both of them have. And one that only  this\ntext has. Short one."
    assert sentences_of(text, ["Here is: a sentence. A sentence that both of them have."]) == [
        "And one that only this"
    ]
