"""What a server has shown of a model, stored so that later runs start from it.

A fact is a row of the state database's table `replies`: its kind is the fact's name in plural.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from gsum_resources.state.database import REPLIES, insert_new, reply_row, state_of
from gsum_resources.store.parquet_store import ParquetStore


@dataclass(frozen=True)
class ServerFacts:
    """Facts by name, as texts.

    Attribute `served_model`: the model and its server, with all settings on which the facts depend.
    """

    store: ParquetStore
    served_model: str

    def get(self, name: str) -> str:
        """Return a fact, or "" if it is unknown."""
        key = name.encode()
        stored = state_of(self.store).replies(f"{name}s", self.served_model, [key])
        return stored.get(key, b"").decode()

    def put(self, name: str, value: str) -> None:
        """Store a fact in place of the earlier one."""
        row = reply_row(f"{name}s", self.served_model, name.encode(), value.encode())

        def replace_row(connection: Any, is_repeated: bool) -> None:
            same = (REPLIES.c[column] == row[column] for column in ("kind", "model", "key"))
            connection.execute(sa.delete(REPLIES).where(*same))
            insert_new(connection, REPLIES, [row])

        state_of(self.store).repeat(replace_row)
