"""Tokens, their corpora, and the names by which a service is reached."""

from pathlib import Path

import pytest

from gsum_assets.serve.access import (
    Access,
    AccessError,
    Token,
    access_for,
    is_loopback,
    read_tokens,
)

LONG = "a-token-of-many-characters"
OTHER = "another-token-of-characters"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_a_loopback_address_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert not access_for(host, {}).tokens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.org"])
def test_any_other_address_is_refused_without_a_token(host: str) -> None:
    with pytest.raises(AccessError, match="GSUM_SERVE_TOKEN"):
        access_for(host, {})
    access = access_for(host, {"GSUM_SERVE_TOKEN": LONG})
    assert access.token_of(f"Bearer {LONG}") == Token.of(LONG)  # of all corpora
    assert LONG not in repr(access)
    assert access.tokens[0].digest.hex() not in repr(access)


def test_a_short_token_is_refused_without_being_shown() -> None:
    with pytest.raises(AccessError, match="at least 16") as error:
        access_for("127.0.0.1", {"GSUM_SERVE_TOKEN": "short-1"})
    assert "short-1" not in str(error.value)


@pytest.mark.parametrize(
    "header",
    [
        *("", "Bearer", "Bearer ", "Bearer \udcff", LONG, f"Basic {LONG}"),
        *(f"Bearer {LONG}x", f"Bearer {LONG[:-1]}", f"Bearer {LONG.upper()}"),
    ],
)
def test_other_headers_have_no_token(header: str) -> None:
    assert Access([Token.of(LONG)]).token_of(header) is None


def test_a_file_gives_tokens_their_corpora(tokens_file: Path) -> None:
    tokens_file.write_text(
        f'[[tokens]]\ntoken = "{LONG}"\ncorpora = ["board"]\n'
        f'[[tokens]]\ntoken = "{OTHER}"\ncorpora = "*"\n'
    )
    access = access_for("0.0.0.0", {}, tokens_file)
    found = [access.token_of(f"bearer {text}") for text in (LONG, OTHER)]
    assert [token.corpora for token in found if token] == [frozenset({"board"}), None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FileNotFoundError"),
        ("tokens = 3", "tokens: "),
        ("tokens = [3]", "tokens.0: "),
        ("[[tokens]", "TOMLDecodeError"),
        (f'[[tokens]]\ntoken = "{LONG}"', "tokens.0.corpora"),
        (f'[[tokens]]\ntoken = "{LONG}"\ncorpora = "board"', "tokens.0.corpora"),
        ('[[tokens]]\ntoken = "hush-hush"\ncorpora = ["board"]', "tokens.0.token: .*at least 16"),
    ],
)
def test_a_wrong_file_is_refused_without_showing_tokens(
    tokens_file: Path, text: str, message: str
) -> None:
    if text:
        tokens_file.write_text(text)
    with pytest.raises(AccessError, match=message) as error:
        read_tokens(tokens_file)
    assert LONG not in str(error.value)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("[::1]:8765", True),
        ("http://localhost:8765", True),
        ("HTTPS://LOCALHOST", True),
        ("gsum.example.org", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("null", False),
        ("[", False),
    ],
)
def test_hosts_and_origins_must_name_the_service(host: str, is_known: bool) -> None:
    access = access_for("127.0.0.1", {}, known_as=["gsum.Example.org"])
    assert access.knows(host) is is_known
