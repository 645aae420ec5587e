"""`gsum forget` where Dagster and the state are in PostgreSQL and the tables in an object store."""

import re
from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest

from gsum_assets.forgetting.leftovers import find_leftovers, sentences_of
from gsum_assets.runner.forget import forget
from gsum_resources.dagster_io.instance_storage import storage_of
from gsum_resources.llm.extractive import ExtractiveModel
from tests.cluster.homes import shared_house
from tests.cluster.servers import object_store, postgres_server, program, run
from tests.conftest import CORPUS, House, document_in, furnish, text_of
from tests.forgetting.test_forget import TEXT
from tests.pipeline.homes import WITHOUT_BERTSCORE

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
SECRET = document_in(0)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[House]:
    home = tmp_path_factory.mktemp("home")
    with object_store() as warehouse, shared_house(home, database, warehouse) as made:
        furnish(made)
        made.model = ExtractiveModel(made.embedder)  # type: ignore[assignment] - quotes documents
        made.write_document(SECRET, f"{TEXT} {text_of(SECRET)}")
        (made.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        assert made.run(["bm25"]).is_complete
        yield made


def everything(house: House, database: str) -> str:
    """The text of a dump of the database and of all objects, blanks made equal."""
    plain = database.replace("+psycopg2", "")
    dump = re.sub(
        r"\\\\x((?:[0-9a-f]{2})+)",
        lambda found: bytes.fromhex(found[1]).decode("utf-8", "ignore"),
        run(program("pg_dump"), plain),
    )
    store = house.store
    texts = [dump]
    for path in store.fs.find(store.root):
        if path.endswith(".parquet"):
            with store.fs.open(path, "rb") as source:
                texts.append(str(pq.read_table(source).to_pylist()))
        else:
            texts.append(store.fs.cat_file(path).decode("utf-8", "ignore"))
    return " ".join("\n".join(texts).replace("\\n", " ").replace("\\", "").split())


def test_no_sentence_is_left_in_database_and_object_store(house: House, database: str) -> None:
    sentences = sentences_of(TEXT)
    before = everything(house, database)
    assert any(sentence in before for sentence in sentences)
    with house.instance() as instance:
        storage = storage_of(instance)
        assert list(storage.databases) == [database]
        found = {one.path for one in find_leftovers(house.home, CORPUS, sentences, storage)}
        assert database in found
        assert any("warehouse/chunks" in path for path in found)
        done = forget(house.pipeline(), instance, CORPUS, SECRET)
    assert done.problem is None
    assert not [*done.leftovers, *done.unsearched]
    after = everything(house, database)
    assert not [sentence for sentence in sentences if sentence in after]
