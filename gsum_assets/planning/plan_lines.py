"""Lines of a plan: numbers of requests with their tokens and price."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.packaged import PACKAGED, PACKAGED_NAME
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore, Partition

ENOUGH = 20  # earlier calls from which their mean is more reliable than the default
UNITS = {"embedding_model": "texts", "passage_scorer": "pairs"}
"""What models other than language models are paid for."""
_LEDGER = TABLES["llm_calls"]


@dataclass(frozen=True)
class Line:
    """Requests that a run would send for an asset, about.

    Attributes
    ----------
    stage : "query" where the asset is computed for questions, else "index".
    model : what the model is for: "judge_model", "reports".
    unit : "calls" of a language model, "texts" embedded or "pairs" scored.
    usd : price, US dollars.
    is_known : whether the tokens are those of earlier calls, not the default.
    is_most : whether the memo may answer some of the requests.
    """

    asset: str
    stage: str
    model: str
    unit: str
    n: int
    tokens_in: int
    tokens_out: int
    usd: float
    is_known: bool = False
    is_most: bool = False


@dataclass(frozen=True)
class Earlier:
    """Means over the earlier requests of an asset to a model, of all corpora of a home."""

    n: int = 0
    calls: float = 1.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0


def earlier_calls(store: ParquetStore) -> dict[tuple[str, str], Earlier]:
    """Return means by asset and model, without failed calls and those that the memo answered."""
    corpora = store.fs.glob(f"{store.root}/{_LEDGER.name}/corpus=*")
    ledgers = [read_appended(store, _LEDGER, Partition.from_path(f).corpus) for f in corpora]
    calls = pa.concat_tables([_LEDGER.empty(), *ledgers])
    calls = calls.filter(pc.and_(pc.invert(calls["cached"]), pc.is_null(calls["error"])))
    means = [(name, "mean") for name in ("calls", "tokens_in", "tokens_out")]
    rows = calls.group_by(["asset", "model"]).aggregate([("asset", "count"), *means])
    columns = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return {(asset, model): Earlier(*values) for asset, model, *values in columns}


def ledger_name(settings: LlmSettings) -> str:
    """Return the name of a language model in the ledger: of a local folder, the folder's name."""
    if settings.backend == PACKAGED:
        return PACKAGED_NAME
    local = settings.backend == "transformers_local" and Path(settings.model).is_dir()
    return Path(settings.model).name if local else settings.model


def line_of(
    asset: str,
    stage: str,
    models: Models,
    name: str,
    n: float,
    cost: Cost,
    share: float,
    earlier: Mapping[tuple[str, str], Earlier],
) -> Line:
    """Return the line of `n` requests to the model that serves `name`.

    Parameters
    ----------
    share : tokens of a prompt in proportion to the usual ones, since methods differ.
    """
    if unit := UNITS.get(name):
        embedding, scorer = models.settings.embedding, models.settings.scorer
        price = (embedding if unit == "texts" else scorer).usd_per_million_tokens
        tokens = round(n * cost.tokens_in)
        return Line(asset, stage, name, unit, round(n), tokens, 0, tokens * price / 1e6)
    settings = models.settings_of(name)
    known = earlier.get((asset, ledger_name(settings)), Earlier())
    is_known = known.n >= ENOUGH
    usual = (known.tokens_in, known.tokens_out) if is_known else (cost.tokens_in, cost.tokens_out)
    tokens_in, tokens_out = round(n * usual[0] * share), round(n * usual[1])
    usd = 0.0
    if models.is_served(name):
        usd = tokens_in * settings.usd_per_million_tokens_in / 1e6
        usd += tokens_out * settings.usd_per_million_tokens_out / 1e6
    calls = round(n * (known.calls if is_known else 1.0))
    return Line(asset, stage, name, "calls", calls, tokens_in, tokens_out, usd, is_known)
