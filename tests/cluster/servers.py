"""PostgreSQL and an S3 server on loopback, each with its own data folder."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

import pytest

BUCKET = "gsum"
PATIENT = {"config_kwargs": {"connect_timeout": 300, "read_timeout": 300}}
"""Settings of S3 clients: a request that a busy machine answers late is not sent a second time."""


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """Start PostgreSQL, link its data as `folder`/postgres, and yield the URL of its database.

    The data are in a temporary folder of their own: pytest closes its folders to other users, such
    as that of PostgreSQL, whenever it starts anywhere on the machine.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="gsum-postgres-") as temporary:
        if os.getuid() == 0:
            shutil.chown(temporary, "postgres", "postgres")
        data, port = folder / "postgres", free_port()
        data.symlink_to(temporary)
        initdb = [program("initdb"), "-D", temporary, "-U", "gsum", "--auth=trust", "-E", "UTF8"]
        run(*as_postgres(), *initdb)
        with postgres_on(data, port):
            yield f"postgresql+psycopg2://gsum@127.0.0.1:{port}/postgres"


@contextmanager
def postgres_on(data: Path, port: int) -> Iterator[None]:
    """Run PostgreSQL on a data folder until the context ends."""
    where = ["-D", str(data.resolve())]
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", "", "-c", "max_connections=200"]
    command = [*as_postgres(), program("postgres"), *where, *options]
    with data.with_suffix(".log").open("a") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(port)
        yield
    finally:
        if server.poll() is None:
            run(*as_postgres(), program("pg_ctl"), *where, "-m", "immediate", "stop")
        server.wait()


def as_postgres() -> list[str]:
    """Return what begins a command of PostgreSQL, which refuses to run as root."""
    return ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []


@contextmanager
def object_store(served: Counter[str] | None = None) -> Iterator[str]:
    """Start moto's S3 server, point clients at it, and yield the URL of an empty bucket.

    Parameters
    ----------
    served : receives the number of requests by operation, counted at the server, see `operation`.
    """
    # make test-cluster installs these
    import boto3  # pyright: ignore[reportMissingImports]
    from fsspec.config import conf
    from moto.server import ThreadedMotoServer  # pyright: ignore[reportMissingImports]
    from s3fs import S3FileSystem  # pyright: ignore[reportMissingImports]

    port = free_port()
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    if served is not None:
        _count(server._server, served)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            patch.setenv("AWS_ACCESS_KEY_ID", "test")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            patch.setenv("FSSPEC_S3", json.dumps(PATIENT))  # of processes that start meanwhile
            patch.setitem(conf, "s3", PATIENT)
            # the objects of an earlier server of this process, and clients that point at it
            urlopen(Request(f"http://127.0.0.1:{port}/moto-api/reset", method="POST")).close()
            S3FileSystem.clear_instance_cache()
            boto3.client("s3").create_bucket(Bucket=BUCKET)
            yield f"s3://{BUCKET}/warehouse"
    finally:
        server.stop()


def _count(server: Any, served: Counter[str]) -> None:
    """Count the requests to a WSGI server by operation."""
    answer = server.app

    def counting(environ: dict[str, str], start_response: Any) -> Any:
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        served[operation(environ["REQUEST_METHOD"], path, query)] += 1
        return answer(environ, start_response)

    server.app = counting


def operation(method: str, path: str, query: str) -> str:
    """Return the operation of a request: LIST, PART, START, COMPLETE, ABORT, or its HTTP method."""
    names = {pair.partition("=")[0] for pair in query.split("&")}
    if method == "GET" and path.strip("/") == BUCKET:
        return "LIST"
    if "uploadId" in names:
        return {"PUT": "PART", "POST": "COMPLETE", "DELETE": "ABORT"}.get(method, method)
    return "START" if method == "POST" and "uploads" in names else method


def program(name: str) -> str:
    """Find a program of PostgreSQL on the path or where Debian keeps it; skip without it."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(installed[-1]) if installed else None)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install postgresql")
    return found


def run(*command: str) -> str:
    """Run a program and return what it prints."""
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, f"{command}: {process.stderr}"
    return process.stdout


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int, patience_s: float = 30.0) -> None:
    """Wait until somebody listens on a port of loopback."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port} after {patience_s:.0f} s")
