"""Where the tests of the state keep it: an SQLite file, or a schema of PostgreSQL.

`TEST_POSTGRES_URL=postgresql+psycopg2://user@host/name` names a server; without it, what needs one
is skipped.
"""

import os
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa

KINDS = ("sqlite", "postgresql")
POSTGRES = "TEST_POSTGRES_URL"


def new_database(kind: str, folder: Path) -> str:
    """Return where a new, empty database is."""
    if kind == "sqlite":
        return str(folder / "home" / "state.db")
    if POSTGRES not in os.environ:
        pytest.skip(f"no PostgreSQL server: set {POSTGRES}")
    url, schema = sa.make_url(os.environ[POSTGRES]), f"s{uuid.uuid4().hex}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema(schema))
    engine.dispose()
    with_schema = url.update_query_dict({"options": f"-csearch_path={schema}"})
    return with_schema.render_as_string(hide_password=False)
