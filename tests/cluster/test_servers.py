"""The servers of these tests themselves."""

from pathlib import Path

from tests.cluster.hosts import kill_postgres, postgres_again
from tests.cluster.servers import postgres_server


def test_postgres_starts_and_stops_in_a_folder_that_pytest_closed_meanwhile(tmp_path: Path) -> None:
    with postgres_server(tmp_path / "server") as url:
        tmp_path.chmod(0o700)
        kill_postgres(tmp_path / "server")
        with postgres_again(tmp_path / "server", url):
            pass
