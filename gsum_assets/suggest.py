"""`did_you_mean` for the assets' side; see `gsum_resources/suggest.py`."""

from gsum_resources.suggest import did_you_mean

__all__ = ["did_you_mean"]
