"""A second run writes nothing: all methods, with the optional sections of `corpus.toml`."""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.store.appended import read_appended
from tests.conftest import CORPUS, House
from tests.gsum.test_equal_to_the_pipeline import QUESTIONS, SETTINGS, TEXTS
from tests.models import LetterHashes
from tests.pipeline.homes import copy_of, due, house_at, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
_JUDGED = ["dense", "gor", "lightpal", "gae", "graphrag-c0", "jerr", "evidence"]
_OPTIONAL = f"""
[questions]
n = 1
description = "News of a river town."
[judges]
methods = {json.dumps(_JUDGED)}
kinds = ["general", "specific"]
max_questions = 1
"""


_MARK = re.compile(r"^<\w+-([0-9a-f]{8})>", re.MULTILINE)
_QUESTIONS = {
    "personas": [{"name": "Teacher", "description": "Reads."}],
    "tasks": ["Tell."],
    "questions": ["How did the ferry change?"],
}


class Writer(ExtractiveModel):
    """The extractive model, which writes questions as well."""

    @property
    def identity(self) -> str:
        return "writer"

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        fields = [[*r.schema.model_fields] if r.schema else [] for r in requests]
        if fields and fields[0][0:1] and fields[0][0] in _QUESTIONS:
            return [_parsed(r, _QUESTIONS, self.identity) for r in requests]
        return super().complete(requests, on_reply)


class Judge:
    """Prefers the answer shown first; if unsure, it gives no verdict on half of the requests."""

    def __init__(self, identity: str = "judge") -> None:
        self.identity = identity
        self.requests: list[Request] = []

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.requests += requests
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply:
        if self.identity == "unsure" and is_refused(request):
            return CompletionError("no verdict", self.identity)
        assert request.schema
        mark = _MARK.search("\n".join(request.passages))
        assert mark
        preference = {"reason": "so", "winner": "answer 1"}
        given = {"mark": mark[1], "reason": "so", "rating": 4, "verdict": "yes"}
        values = {name: given.get(name, preference) for name in request.schema.model_fields}
        return _parsed(request, values, self.identity)


def is_refused(request: Request) -> bool:
    return zlib.crc32("".join(request.passages).encode()) % 2 > 0


def _parsed(request: Request, values: Mapping[str, Any], model: str) -> Completion:
    assert request.schema
    fields = {name: values[name] for name in request.schema.model_fields}
    return Completion("{}", model, 9, 9, 0.0, request.schema.model_validate(fields))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """All methods of a small corpus, with questions and verdicts."""
    with house_at(tmp_path_factory.mktemp("settles")) as house:
        house.folder.mkdir(exist_ok=True)
        rows = ({"document_id": name, "text": text} for name, text in TEXTS.items())
        write_lines(house.folder / "documents.jsonl", [*rows])
        write_lines(house.folder / "queries.jsonl", [*QUESTIONS])
        (house.folder / "corpus.toml").write_text(SETTINGS + _OPTIONAL)
        house.model, house.judge = Writer(LetterHashes()), Judge()  # type: ignore[assignment]
        report = house.run(["all"])
        assert not report.errors, report.errors
        assert not report.missing, report.missing
        yield house


def n_calls(house: House) -> int:
    return read_appended(house.store, TABLES["llm_calls"], CORPUS).num_rows


def test_second_run_of_all_methods_writes_nothing(written: House) -> None:
    judged = written.table("judgements")
    assert set(judged["method"].to_pylist()) == set(_JUDGED)
    assert "generated" in written.table("queries")["split"].to_pylist()
    assert due(written) == []
    before = n_calls(written)
    assert written.run().steps == []
    assert n_calls(written) == before


def test_invalid_verdict_is_paid_once_by_each_run(written: House, tmp_path: Path) -> None:
    with copy_of(written, tmp_path) as house:
        house.judge = Judge("unsure")
        report = house.run()
        # one line for the step that writes both `judgements` and `win_rates`
        assert [gap.split(":")[0] for gap in report.gaps] == ["judgements"]
        first = [str(request) for request in house.judge.requests]
        assert len(set(first)) == len(first) > 0
        invalid = [str(request) for request in house.judge.requests if is_refused(request)]
        assert 0 < len(invalid) < len(first)
        house.judge.requests.clear()
        assert house.run().gaps == report.gaps
        assert sorted(str(request) for request in house.judge.requests) == sorted(invalid)
