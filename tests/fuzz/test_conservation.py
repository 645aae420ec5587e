"""Every word of a file is in its text in order, or counted as left out; see `conservation`."""

import pytest

from gsum_assets.corpus.conversion.formats import FORMATS
from tests.fuzz.conservation import DEPARTURES, measured
from tests.fuzz.word_files import WRITERS


@pytest.mark.parametrize("suffix", WRITERS)
def test_words_are_kept_in_order_or_counted(suffix: str) -> None:
    counts, faults = measured(suffix, n_documents=3, seed=1)
    assert not faults
    assert counts["in order"] == counts["expected"] > 100
    assert counts["named"] == counts["out"] or suffix in DEPARTURES


def test_formats_without_a_writer_are_named() -> None:
    assert {*FORMATS} - {*WRITERS} <= {*DEPARTURES}
