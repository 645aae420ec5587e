"""Metadata of documents: front matter of Markdown files, and further columns of tables."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

import yaml

from gsum_assets.corpus.decoding import NotTextError, decode

_FRONT_MATTER = re.compile(
    r"(?P<mark>---|\+\+\+)[ \t]*\n(?P<block>.*?)(?<=\n)(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_BLOCK_CHARS = 65_536
_MOST_CHARS = 1_000
"""A longer value is text that happens to have a column of its own."""
_MOST_KEYS = 200
_MOST_KEY_CHARS = 100


class _WithoutAliases(yaml.SafeLoader):
    """Rejects aliases, by which a few lines of YAML name billions of values."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the metadata at the head of a Markdown file, and the text after it.

    Metadata are YAML between two lines `---`, or TOML between two lines `+++`; a head that is no
    table of values, such as a text after a horizontal rule, is part of the text.
    """
    match = _FRONT_MATTER.match(text)
    if not match or len(match["block"]) > _MOST_BLOCK_CHARS:
        return {}, text
    try:
        if match["mark"] == "+++":
            values = tomllib.loads(match["block"])
        else:
            values = yaml.load(match["block"], _WithoutAliases)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: TOML, and bad dates in YAML
        return {}, text
    if values is not None and not isinstance(values, dict):
        return {}, text
    return values or {}, text[match.end() :]


def metadata_of(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what is kept of a document's values: numbers, dates, short texts, and lists of these.

    Dates are texts such as "2024-05-01", nested tables JSON. Empty and long values are left out.
    """
    kept: dict[str, Any] = {}
    for key, value in values.items():
        name = _whole(str(key)).replace("\0", "").strip()
        plain = _plain(value)
        if name and len(name) <= _MOST_KEY_CHARS and plain not in (None, "", [], {}):
            kept[name] = plain
        if len(kept) == _MOST_KEYS:
            break
    return kept


def as_json(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata as a JSON object with sorted keys; None without any."""
    return json.dumps(metadata, ensure_ascii=False, sort_keys=True) if metadata else None


def _whole(text: str) -> str:
    """Return a text without surrogates, which are bytes that are not UTF-8, or damage of JSON."""
    if not _SURROGATE.search(text):
        return text
    try:
        return decode(text.encode("utf-8", "surrogateescape"))[0]
    except (UnicodeEncodeError, NotTextError):
        return _SURROGATE.sub("\ufffd", text)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; None for one that is no metadata."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        text = _whole(value).strip()
        return text if len(text) <= _MOST_CHARS and "\0" not in text else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return metadata_of(value)
    if isinstance(value, list | tuple):
        items = [_plain(item) for item in value]
        whole = [item for item in items if item is not None]
        return whole if len(json.dumps(whole)) <= _MOST_CHARS else None
    return _plain(str(value))
