"""Which replies are forgotten: by hand, for every reason to keep one."""

import pyarrow as pa
import pytest

from gsum_assets.forgetting.replies import FORGOTTEN, Present, replies_to_forget
from gsum_assets.pipeline.tables import TABLES

CALLS = TABLES["llm_calls"]


def calls(*rows: tuple[str, str, str, str | None]) -> pa.Table:
    """Rows of prompt hash, step, document and run."""
    blank = {"model": "m", "tokens_in": 5, "tokens_out": 1, "latency_s": 0.0, "retries": 0}
    blank |= {"cached": False, "cost_usd": 0.5, "error": "no JSON", "time": 0}
    names = ("prompt_hash", "asset", "document_id", "run_id")
    filled = [blank | dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(filled, CALLS.schema)


LEFT = Present(frozenset({"kept"}), {"reports": {"new"}})


@pytest.mark.parametrize(
    ("row", "is_forgotten"),
    [
        (("a1", "facts", "kept", "old"), False),
        (("a1", "facts", "gone", "old"), True),
        (("a1", "reports", "", "new"), False),
        (("a1", "reports", "", "old"), True),
        (("a1", "ask", "", ""), True),
        (("a1", "facts", FORGOTTEN, "old"), True),
    ],
)
def test_reply_is_kept_while_something_depends_on_it(row: tuple, is_forgotten: bool) -> None:
    assert replies_to_forget({"tales": calls(row)}, {"tales": LEFT}) == (
        {"a1"} if is_forgotten else set()
    )


def test_other_use_of_the_same_request_keeps_the_reply() -> None:
    ledgers = {
        "tales": calls(
            ("renamed", "facts", "gone", "old"),
            ("renamed", "facts", "kept", "new"),
            ("moved", "facts", "gone", "old"),
            ("lost", "facts", "gone", "old"),
        ),
        "others": calls(("moved", "facts", "elsewhere", "any")),
    }
    assert replies_to_forget(ledgers, {"tales": LEFT}) == {"lost"}
