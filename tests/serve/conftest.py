"""Two corpora that are indexed once, the application over them, and a server of it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.access import Access
from gsum_assets.serve.app import new_app
from gsum_assets.serve.limits import Limits
from gsum_assets.serve.server import Server, address_of, listening_at
from gsum_assets.serve.service import Service
from tests.conftest import CORPUS, House, tables_only, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at

SECRETS = "secrets"
DOCUMENTS = ("ash", "birch", "cedar")


@pytest.fixture(scope="package")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("served")) as house:
        for document_id in DOCUMENTS:
            house.write_document(document_id, text_of(document_id, 90))
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        folder = house.home.corpora / SECRETS
        folder.mkdir()
        (folder / "vault.txt").write_text(text_of("vault", 40))
        (folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        with tables_only():
            for corpus in (CORPUS, SECRETS):
                assert house.run(["bm25", "hybrid"], corpus).errors == []
        yield house


def service_of(house: House) -> Service:
    return Service.over(house.home, house.pipeline().workspace.models)


def client_of(app: ASGIApp) -> TestClient:
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="package")
def client(indexed: House) -> Iterator[TestClient]:
    with client_of(new_app(service_of(indexed))) as client:
        yield client


@contextmanager
def served(app: ASGIApp, limits: Limits | None = None) -> Iterator[str]:
    """Yield the address of a server of an application, which runs in a thread."""
    ready = threading.Event()
    with listening_at("127.0.0.1", 0) as listening:
        server = Server(app, limits or Limits(), ready.set)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not ready.wait(0.1):
                assert thread.is_alive()
            yield address_of(*listening.getsockname()[:2])
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(
    house: House, access: Access | None = None, limits: Limits | None = None
) -> Iterator[str]:
    """Yield the address of the service over a home."""
    with served(new_app(service_of(house), access, limits), limits) as address:
        yield address


@pytest.fixture(scope="module")
def address(indexed: House) -> Iterator[str]:
    with serving(indexed) as address:
        yield address


@pytest.fixture
def tokens_file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


def filled(name: str, rows: list[dict]) -> pa.Table:
    """Return rows of a table; columns that are not given are empty."""

    def empty(kind: pa.DataType) -> object:
        is_text = pa.types.is_string(kind) or pa.types.is_dictionary(kind)
        return [] if pa.types.is_list(kind) else "" if is_text else 0

    schema = TABLES[name].schema
    return pa.Table.from_pylist([{f.name: empty(f.type) for f in schema} | r for r in rows], schema)
