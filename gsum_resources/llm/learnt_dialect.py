"""The dialect that a server was found to support: learnt from its answers, stored for later runs.

The first structured request of a new server is the probe. What it finds is stored with model,
server and version, and a later run starts from it. It is tried again from there: a rejection, or a
reply that ignores the schema, lowers the format further, and a reply of another model than the one
that was probed starts the probe anew, and so does `gsum models`.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from gsum_resources.llm.dialect import COMPLAINTS, Dialect, Format, is_rejection
from gsum_resources.llm.replies import has_form
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.state.server_facts import ServerFacts
from gsum_resources.store.content_hash import hash_texts

DIALECT = "dialect"
"""Name of the stored fact."""

Schema = type[BaseModel] | None

_log = logging.getLogger(__name__)


class LearntDialect:
    """The form of requests to one model of one server.

    Parameters
    ----------
    settings : with "auto" as `structured_output` the format is found out, else it is fixed.
    facts : what earlier runs have stored; None: nothing is stored.
    """

    def __init__(self, settings: LlmSettings, facts: ServerFacts | None = None) -> None:
        requested = settings.structured_output
        self._server = settings.base_url
        self._is_auto = requested == "auto"
        self._initial = Dialect("json_schema" if requested == "auto" else requested)
        self._facts = facts
        self._stored: str | None = None  # as it was read or written last; None: not read yet
        self._is_confirmed = False  # whether this process has received a reply
        self._obeyed: set[Format] = set()  # formats in which a reply had the fields of its schema
        self._accepted: set[Format] = set()  # by this process's requests
        self._forget()

    def _forget(self) -> None:
        self._dialect = self._initial
        self._formats: dict[str, Format] = {}  # formats of schemas that need a lower one
        self._accepted_before: set[Format] = set()
        self._answered_by = ""  # model that the server has named in its reply
        self._is_doubtful = False  # lowered by one reply, though others had obeyed

    @property
    def format(self) -> Format:
        """Format of structured replies, as far as it is known."""
        return self._dialect.format

    def recall(self) -> None:
        """Start from what earlier runs have stored; has an effect once."""
        if self._stored is not None:
            return
        text = self._facts.get(DIALECT) if self._facts else ""
        with suppress(ValueError, TypeError, KeyError):  # nothing, or of another version of gsum
            stored = json.loads(text)
            self._dialect = Dialect(**stored["dialect"])
            self._formats = stored["formats"]
            self._accepted_before = set(stored["accepted"])
            self._answered_by = stored["answered_by"]
        self._stored = text

    def probe_again(self) -> None:
        """Ignore what earlier runs have stored, and replace it by what is learnt next."""
        self._stored = ""
        self._forget()

    def for_schema(self, schema: Schema) -> Dialect:
        """Return the dialect of the next request."""
        form = self._formats.get(_key(schema)) if schema else None
        return replace(self._dialect, format=form) if form else self._dialect

    def is_on_trial(self, schema: Schema, dialect: Dialect) -> bool:
        """Return whether a failure may mean that the server does not support the format."""
        if schema is None or not self._is_auto or dialect.format == "prompt":
            return False
        return dialect.format not in self._accepted

    def changes_after(
        self, schema: Schema, dialect: Dialect, status: int, complaint: str
    ) -> Mapping[str, Any]:
        """Return the changes to make after a failure; empty if it is not due to the dialect."""
        if not is_rejection(status, complaint):
            return {}
        if status not in COMPLAINTS and not self.is_on_trial(schema, dialect):
            return {}
        may_lower = schema is not None and self._is_auto
        return dialect.adapted(complaint, may_lower, dialect.format in self._accepted)

    def learn(
        self, schema: Schema, changes: Mapping[str, Any], accepted: Format | None, model: str = ""
    ) -> None:
        """Note what a server has accepted, and store it if it is new.

        A lower format is that of this schema alone if the server has accepted the higher one.

        Parameters
        ----------
        changes : fields of the dialect that differ in the accepted request.
        accepted : its format; None: it has requested no JSON.
        """
        if model and not self._is_confirmed and self._answered_by not in ("", model):
            _log.info("%s now answers as %s: its formats are probed again", self._server, model)
            self._forget()
            changes = {}
        if model and not self._is_confirmed:
            self._answered_by, self._is_confirmed = model, True
        changed, before = dict(changes), self._dialect.format
        if schema and "format" in changed and before in self._accepted | self._accepted_before:
            self._formats[_key(schema)] = changed.pop("format")
        self._dialect = replace(self._dialect, **changed)
        if self.format != before:
            names = self._server, before, self.format
            _log.info("%s does not support JSON as %s; it is requested as %s", *names)
        self._accepted |= {accepted} if accepted else set()
        self._store()

    def note_obeyed(self, schema: type[BaseModel], text: str) -> None:
        """Note whether a valid reply has the form that its server enforces."""
        if has_form(text, schema):
            self._obeyed.add(self.for_schema(schema).format)

    def note_ignored(
        self, schema: Schema, text: str, sent: Format, is_cut_off: bool = False
    ) -> bool:
        """Lower the format if the server ignored the schema; return whether it is lower.

        A reply without any JSON lowers it for all schemas, a complete one with other fields for its
        own.

        Parameters
        ----------
        sent : format of the request; of several in flight the first lowers it for all.
        """
        if not (schema and self._is_auto and text):
            return False
        dialect = self.for_schema(schema)
        is_prose = not set(text) & set("{[")
        if dialect.format != sent or not dialect.lower_format:
            return is_prose and dialect.format != sent
        if is_prose and _key(schema) not in self._formats:
            self._is_doubtful |= dialect.format in self._obeyed
            self._dialect = replace(self._dialect, format=dialect.lower_format)
            return True
        if not is_prose:
            is_enforced = dialect.format in {"json_object", *self._obeyed}
            if is_cut_off or is_enforced or has_form(text, schema):
                return False
        self._formats[_key(schema)] = dialect.lower_format
        return True

    def _store(self) -> None:
        if self._facts is None or self._is_doubtful:
            return
        found = {
            "dialect": asdict(self._dialect),
            "formats": self._formats,
            "accepted": sorted(self._accepted | self._accepted_before),
            "answered_by": self._answered_by,
        }
        text = json.dumps(found, sort_keys=True)
        if text != self._stored:
            self._facts.put(DIALECT, text)
            self._stored = text


@cache
def _key(schema: type[BaseModel]) -> str:
    return hash_texts([json.dumps(schema.model_json_schema())], 8)
