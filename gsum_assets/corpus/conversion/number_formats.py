"""Values of cells as a workbook shows them, by the number formats of Excel (ECMA-376, 18.8.31)."""

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

BUILT_IN = {"1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%"} | {
    **dict.fromkeys(["5", "6"], "$#,##0"), **dict.fromkeys(["7", "8"], "$#,##0.00"),
    **dict.fromkeys(["37", "38"], "#,##0;(#,##0)"), "42": "$#,##0;$(#,##0)",
    **dict.fromkeys(["39", "40"], "#,##0.00;(#,##0.00)"), "44": "$#,##0.00;$(#,##0.00)",
    **dict.fromkeys(["20", "22"], "h:mm"), "46": "[h]:mm:ss",
}  # fmt: skip
"""Formats that files name by number alone."""

_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"])+|(?<=;)(?=;)')
_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|_.|\*.|\[(?:[A-Z][a-z]+|Color ?\d+)\]'
    r"|([#0?.,]*[#0?][#0?.,]*)|([^\[])"
)
_MOST = 10**15  # Excel has 15 digits


def shown(value: object, code: str = "") -> str:
    """Return a value as text, by its number format if that is of a common kind.

    A date becomes YYYY-MM-DD, as 04/03/2025 does not say which is the month.
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return (code and _number(Decimal(repr(value)), code)) or _plain(value)
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(abs(value).total_seconds()), 60)
        tail = f":{seconds:02}" if seconds or "s" in code else ""
        sign = "-" if value < dt.timedelta() else ""
        return f"{sign}{minutes // 60}:{minutes % 60:02}{tail}"
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        value = value.date()
    if isinstance(value, dt.datetime) and code and not set(code) & set("yd"):
        value = value.time()
    precision = "minutes" if code and "s" not in code else "seconds"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ", precision)
    return value.isoformat(precision) if isinstance(value, dt.time) else str(value)


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.15g}"


def _number(number: Decimal, code: str) -> str:
    """Return a number in a format, "" if that is of another kind: a fraction, an exponent, text."""
    sections = _sections(code)
    which = 1 if number < 0 else 2 if number == 0 else 0
    section = sections[which if which < len(sections) else 0]
    if section is None or abs(number) >= _MOST:
        return ""
    before, pattern, after = section
    sign = "-" if number < 0 and section is sections[0] else ""
    percent = 2 * (before + after).count("%")
    digits = _digits(abs(number).scaleb(percent), pattern) if pattern else ""
    return " ".join(f"{sign}{before}{digits}{after}".split())


@lru_cache
def _sections(code: str) -> list[tuple[str, str, str] | None]:
    """Return what stands before the digits, their pattern, and what follows, by section."""
    sections: list[tuple[str, str, str] | None] = []
    for section in _SECTION.findall(code) or [""]:
        tokens = [match.groups() for match in _TOKEN.finditer(section)]
        plain = "".join(token[4] or "" for token in tokens)
        at = [i for i, token in enumerate(tokens) if token[3]] or [len(tokens)]
        is_other = "[" in _TOKEN.sub("", section) or re.search("[A-Za-z/@]", plain)
        texts = ["".join(filter(None, token)) for token in tokens] + [""]
        parts = "".join(texts[: at[0]]), texts[at[0]], "".join(texts[at[0] + 1 :])
        sections.append(None if is_other or len(at) > 1 else parts)
    return sections


def _digits(number: Decimal, pattern: str) -> str:
    """Return a number that is not negative in the digits of a format, such as `#,##0.00`."""
    whole, _, decimals = pattern.partition(".")
    n_thousands = len(pattern) - len(pattern.rstrip(","))
    least = decimals.count("0")
    unit = Decimal(1).scaleb(-len(decimals.rstrip(",")))
    rounded = number.scaleb(-3 * n_thousands).quantize(unit, ROUND_HALF_UP)
    head, _, tail = f"{rounded:{',' if ',' in whole.rstrip(',') else ''}f}".partition(".")
    tail = tail[:least] + tail[least:].rstrip("0")
    head = head.zfill(whole.count("0")) if "0" in whole or head != "0" else ""
    return f"{head}.{tail}" if tail else head
