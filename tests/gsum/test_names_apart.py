"""An answer says of a name in two contexts that it may be several."""

import pytest

import gsum
from tests.gsum.test_sources_of_answers import MODELS

COURT = "Judge Anna Berg of the county court of Hask fined a poacher. Anna Berg called it cruel."
BAKERY = "Anna Berg opened her bakery in Lund Street. Anna Berg bakes rye bread for Lund Street."
SAID = '"Anna Berg" may be several: it stands beside different names in '


@pytest.mark.parametrize(
    ("texts", "question", "document", "is_said"),
    [
        ({"court": COURT, "bakery": BAKERY}, "What did Anna Berg do?", None, True),
        ({"court": COURT, "bakery": BAKERY}, "What did the poacher do?", None, False),
        ({"court": COURT, "bakery": BAKERY}, "What did Anna Berg do?", "court", False),
        ({"court": COURT, "more": COURT}, "What did Anna Berg do?", None, False),
    ],
)
def test_a_note_names_the_documents(
    texts: dict[str, str], question: str, document: str | None, is_said: bool
) -> None:
    result = gsum.run("graphrag-local", texts, [question], models=MODELS, progress=False)
    answer = result.ask(question, document)
    assert (f"{SAID}bakery and court" in str(answer)) == is_said
