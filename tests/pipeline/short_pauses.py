"""Shortened time: waits for a server are short, and a minute of its limits is a second.

`python -m tests.pipeline.short_pauses ARGUMENT...` is `gsum ARGUMENT...` like that.
"""

import sys
import time

import pytest

from gsum_assets.cli.main import main
from gsum_resources.endpoint import Endpoint
from gsum_resources.endpoint.rate_limit import RateLimiter

FASTER = 50.0  # of pauses between attempts: the longest, of a minute, takes 1.2 s
MINUTE_S = 1.0
_MARGIN_S = 0.4  # by how much requests may differ in their way to the server, on a busy machine


def shorten_pauses(patch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses of endpoints that are created from now on."""
    patch.setattr("gsum_resources.endpoint.client._LONGEST_BACKOFF_S", 60.0 / FASTER)
    patch.setattr(Endpoint.__init__, "__defaults__", (None, 1.0 / FASTER))
    window_s = MINUTE_S + _MARGIN_S
    patch.setattr(RateLimiter.__init__, "__defaults__", (None, time.monotonic, window_s))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patched:
        shorten_pauses(patched)
        main(sys.argv[1:])
