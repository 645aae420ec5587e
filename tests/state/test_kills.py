"""No reply that was acknowledged is lost or paid for again."""

from pathlib import Path

import pytest

from tests.state.databases import KINDS, new_database
from tests.state.kills import kill_often


@pytest.mark.parametrize("kind", KINDS)
def test_killed_client_loses_only_requests_in_flight(tmp_path: Path, kind: str) -> None:
    found = kill_often(tmp_path, new_database(kind, tmp_path), times=6)
    assert found.is_good, found
    assert found.acknowledged > 6
