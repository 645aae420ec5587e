"""Lines of a plan: numbers of requests with their tokens and price."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.estimate import Requests
from gsum_resources.llm.causal_weights import PACKAGED, PACKAGED_NAME
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
    model: str = ""
    unit: str = "calls"
    n: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
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


def filled(
    line: Line,
    models: Models,
    requests: Requests,
    usual: Requests,
    n_failed: int,
    earlier: Mapping[tuple[str, str], Earlier],
) -> Line:
    """Return a line with numbers and price.

    Parameters
    ----------
    usual : what the step requests for all of its files: the mean of earlier calls is of these,
        while those of an edit may be of other methods, or longer.
    n_failed : requests that are repeated.
    """
    each = requests if requests.n else usual
    number, *tokens = [value * (requests.n + n_failed) / (each.n or 1.0) for value in each[1:]]
    if unit := UNITS.get(line.model):
        embedding, scorer = models.settings.embedding, models.settings.scorer
        price = (embedding if unit == "texts" else scorer).usd_per_million_tokens
        usd = tokens[0] * price / 1e6
        return replace(line, unit=unit, n=round(number), tokens_in=round(tokens[0]), usd=usd)
    settings = models.settings_of(line.model)
    known = earlier.get((line.asset, ledger_name(settings)), Earlier())
    is_known = known.n >= ENOUGH and usual.n > 0
    if is_known:
        number = (requests.n + n_failed) * known.calls
        defaults = [value / usual.n or 1.0 for value in usual[2:]]
        means = known.tokens_in, known.tokens_out
        tokens = [t * mean / d for t, mean, d in zip(tokens, means, defaults, strict=True)]
    prices = settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out
    usd = sum(n * usd / 1e6 for n, usd in zip(tokens, prices, strict=True))
    return replace(
        line,
        n=round(number),
        tokens_in=round(tokens[0]),
        tokens_out=round(tokens[1]),
        usd=usd if models.is_served(line.model) else 0.0,
        is_known=is_known,
    )
