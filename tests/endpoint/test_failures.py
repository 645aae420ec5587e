"""Effect of a server's answer on its request and on the others."""

import json
from email.utils import formatdate
from pathlib import Path

import pytest
import yaml

from gsum_resources.endpoint.failures import (
    EndpointError,
    TransientError,
    failure_of,
    retry_after,
    stated_pause,
    unavailable,
)
from gsum_resources.settings.schema import LlmSettings

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))

SETTINGS = LlmSettings(backend="openai_compatible", model="m", api_key_env="MY_KEY")


def body(message: str, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "code": code}})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": formatdate(1030, usegmt=True)}, 30),
        ({"retry-after": formatdate(900, usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, 1e9),
    ],
)
def test_pause_requested_by_a_server_is_parsed(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=1000) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_transient_failures_are_retried(status: int) -> None:
    failure = failure_of(status, {"retry-after": "3"}, body("busy"))
    assert isinstance(failure, TransientError)
    assert failure.retry_after_s == 3
    assert unavailable(failure, SETTINGS) is None
    patient = failure_of(status, {"retry-after": "360"}, body("busy"))  # openai gives up at 120 s
    assert isinstance(patient, TransientError)
    assert patient.retry_after_s == 360


@pytest.mark.parametrize("status", [400, 413, 422])
def test_rejected_request_affects_only_itself(status: int) -> None:
    failure = failure_of(status, {}, body("too long"))
    assert type(failure) is EndpointError
    assert unavailable(failure, SETTINGS) is None


@pytest.mark.parametrize(
    ("status", "headers", "message", "code", "expected"), CASES["permanent failures"]
)
def test_permanent_failures_end_the_work(status, headers, message, code, expected) -> None:
    error = unavailable(failure_of(status, headers, body(message, code)), SETTINGS)
    assert error is not None
    with pytest.raises(type(error), match=f"server at {SETTINGS.base_url} .*{expected}"):
        raise error


def test_wrong_path_is_reported_unless_the_server_answered_before() -> None:
    failure = failure_of(404, {}, '{"detail": "Not Found"}')
    assert "correct base_url" in str(unavailable(failure, SETTINGS, answered=False))
    assert unavailable(failure, SETTINGS, answered=True) is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (body("busy", "overloaded"), "500: busy (overloaded)"),
        ('{"error": "busy"}', "500: busy"),
        ('{"message": "busy"}', "500: busy"),
        ('{"detail": "busy"}', "500: busy"),
        ("<html>\n busy </html>", "500: <html> busy </html>"),
        ("[1]", "500: [1]"),
        ("", "500"),
        ("[" * 100_000, "500: [[["),
        ('{"error": {"message": "%s"}}' % ("x" * 9000), "500: xxx"),
    ],
)
def test_server_message_is_shortened(content: str, expected: str) -> None:
    message = str(failure_of(500, {}, content))
    assert message.startswith(expected)
    assert len(message) < 400


@pytest.mark.parametrize(("answer", "seconds"), CASES["pauses in words"])
def test_pause_is_read_from_the_words_of_servers(answer: str, seconds: float | None) -> None:
    assert stated_pause(answer) == (None if seconds is None else pytest.approx(seconds))


def test_longer_of_the_header_and_the_words_counts() -> None:
    failure = failure_of(429, {"retry-after": "1"}, body("Please try again in 1m30.5s."))
    assert isinstance(failure, TransientError)
    assert failure.retry_after_s == 90.5


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (400, body("The prompt triggered Azure's content management policy.")),
        (400, body("Rejected.", "content_policy_violation")),
        (400, body("Content Exists Risk")),
        (400, body("inappropriate content", "data_inspection_failed")),
        (403, body("This model requires moderation. Your input was flagged.")),
    ],
)
def test_filtered_request_is_no_fault_of_key_or_form(status: int, content: str) -> None:
    failure = failure_of(status, {}, content)
    assert type(failure) is EndpointError
    assert failure.is_filtered
    assert unavailable(failure, SETTINGS) is None
    assert not failure_of(429, {}, content).is_filtered
