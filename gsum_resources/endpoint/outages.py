"""Outages of servers, in the state database: what one run has found out, no other waits for.

From the note on every batch of requests to that server fails at once, in all processes on all
hosts, except that one of them may try again every `PROBE_EVERY_S`; an answer ends the outage.
"""

import time
from collections.abc import Callable

import sqlalchemy as sa

from gsum_resources.endpoint.failures import Settings
from gsum_resources.state.database import OUTAGES, State
from gsum_resources.store.content_hash import hash_texts

PROBE_EVERY_S = 30.0
_LONG_AGO = -1e9  # before any time by `State.now`


class Outages:
    """The outage of one account at a server, in the table `OUTAGES`; not noted without `state`."""

    def __init__(self, state: Callable[[], State] | None, settings: Settings) -> None:
        self._state = state
        server = settings.base_url, settings.api_key_env, settings.model
        self._account = hash_texts(server, 8)
        self._is_account = OUTAGES.c.account == self._account

    def current(self) -> str | None:
        """Return the sentence with the remedy, or None if the server is not known to be away."""
        if self._state is None:
            return None
        with self._state().reading() as connection:
            return connection.execute(sa.select(OUTAGES.c.reason).where(self._is_account)).scalar()

    def note(self, reason: str) -> None:
        """Note that the server is away; one that was away before stays so since then."""
        if self._state is None:
            return
        state = self._state()

        def replace_row(connection: sa.Connection, _: bool) -> None:
            since = connection.execute(sa.select(OUTAGES.c.since).where(self._is_account)).scalar()
            connection.execute(sa.delete(OUTAGES).where(self._is_account))
            row = {
                "account": self._account,
                "since": time.time() if since is None else since,
                "reason": reason,
                "reached": True,  # a column of earlier versions
                "probed": state.now(connection),
            }
            connection.execute(sa.insert(OUTAGES).values(row))

        state.repeat(replace_row, alone=OUTAGES)

    def end(self) -> None:
        """Note that the server has answered."""
        self._change(sa.delete(OUTAGES).where(self._is_account))

    def may_probe(self) -> bool:
        """Return whether this process is the one to try again now."""
        if self._state is None:
            return True
        state = self._state()

        def take_turn(connection: sa.Connection, _: bool) -> bool:
            now, probed = state.now(connection), OUTAGES.c.probed
            # later than now: from before the machine was started
            is_long_ago = sa.or_(probed <= now - PROBE_EVERY_S, probed > now)
            turn = sa.update(OUTAGES).where(self._is_account, is_long_ago).values(probed=now)
            return connection.execute(turn).rowcount > 0

        return state.repeat(take_turn)

    def allow_probe(self) -> None:
        """Let the next batch of requests try again."""
        self._change(sa.update(OUTAGES).where(self._is_account).values(probed=_LONG_AGO))

    def _change(self, statement: sa.Update | sa.Delete) -> None:
        if self._state is not None:
            self._state().repeat(lambda connection, _: connection.execute(statement))
