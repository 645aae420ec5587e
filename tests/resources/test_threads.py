"""Results in order, an error where it is due."""

import pytest

from gsum_resources.engine.threads import ahead, in_threads


@pytest.mark.parametrize("run", [in_threads, ahead])
def test_results_are_in_the_order_of_the_blocks(run) -> None:
    for n in (0, 1, 5):
        assert list(run(lambda i: i * i, range(n))) == [i * i for i in range(n)]


def test_an_error_comes_after_the_results_before_it() -> None:
    results = ahead(lambda i: 1 // i, [2, 1, 0])
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
