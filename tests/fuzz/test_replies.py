"""A few examples of `python -m tests.fuzz.replies`, which runs any number of them."""

import pytest

from tests.fuzz.replies import ANSWER, Example, main, outcome
from tests.servers.raw import Raw, chat


def test_generated_faults_of_replies_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--examples", "25", "--seed", "1"]) == 0
    assert "nothing found in 25 examples, seed 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("example", "how"),
    [
        (Example((), f"I wonder which boat</think>{ANSWER}", None), "text"),
        (Example((Raw(b"", is_dropped=True),), ANSWER, None), "text"),
        (Example((Raw(b"<html>Bad Gateway</html>", 502),), ANSWER, None), "text"),
        (Example((chat(content=None),), None, None), "error"),
        (Example((Raw(b"{}", 401),), ANSWER, None), "server given up"),
    ],
)
def test_outcomes_are_told_apart(example: Example, how: str) -> None:
    assert outcome(example) == how


def test_lost_item_is_a_failure() -> None:
    with pytest.raises(AssertionError):
        outcome(Example((), '{"entities": []}', (("Lin",), (), ())))
    with pytest.raises(AssertionError):
        outcome(Example((), f"I wonder which boat. {ANSWER}", None))
