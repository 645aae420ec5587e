"""Keys of the inputs that a file depends on, as its footer stores them."""

import json
from dataclasses import dataclass

from gsum_resources.store.content_hash import hash_texts

_DIMENSIONS = ("corpus", "bucket", "method", "family")


@dataclass(frozen=True)
class InputKey:
    """Key of an input, from which its present version can be computed.

    `str` writes it and `parse` reads it: `table:scores/corpus=tales/family=gor`.

    Attributes
    ----------
    kind : "table", "settings" or "model"; "rows" where only the number of rows counts, and "size"
        for its binary digits; "run" for what the configuration of a run restricts.
    name : name of the table, section or model.
    corpus, bucket, method : the partitions of a table that were read, or the corpus of a section;
        None: of all.
    family : the methods whose partitions were read: those of a family; None: of all.
    asset : the asset that reads a model, since kinds of work may have their own. Not stored.
    """

    kind: str
    name: str
    corpus: str | None = None
    bucket: str | None = None
    method: str | None = None
    family: str | None = None
    asset: str = ""

    def __str__(self) -> str:
        values = ((dimension, getattr(self, dimension)) for dimension in _DIMENSIONS)
        segments = [f"{dimension}={value}" for dimension, value in values if value is not None]
        return "/".join([f"{self.kind}:{self.name}", *segments])

    @classmethod
    def parse(cls, text: str, asset: str = "") -> "InputKey":
        """Return the key that the footer of a file of an asset stores as `text`."""
        kind, _, rest = text.partition(":")
        name, *segments = rest.split("/")
        values = dict(segment.split("=", 1) for segment in segments if "=" in segment)
        known = {dimension: values.get(dimension) for dimension in _DIMENSIONS}
        return cls(kind, name, **known, asset=asset if kind == "model" else "")


def section_version(value: object) -> str:
    """Return the version of a section of `corpus.toml`, from its JSON-serializable value."""
    return hash_texts([json.dumps(value, sort_keys=True, default=str)])
