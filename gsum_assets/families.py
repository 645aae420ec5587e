"""All families of methods; a new method is one line here."""

from gsum_assets.evaluation.family import Family
from gsum_assets.gae.family import GAE
from gsum_assets.gor.family import GOR
from gsum_assets.graphrag.family import GRAPHRAG
from gsum_assets.jerr.family import JERR
from gsum_assets.lightpal.family import LIGHTPAL
from gsum_assets.retrieval.family import RETRIEVAL

FAMILIES: tuple[Family, ...] = (RETRIEVAL, GOR, LIGHTPAL, GAE, GRAPHRAG, JERR)
