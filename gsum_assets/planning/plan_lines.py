"""Requests of a dry run, added up by asset, with corrected numbers of tokens.

The tokens of a stub model are estimates, which are corrected in two ways. Tokens of prompts: the
memo has replies of the real model, whose tokens a server counted, to requests of the same dry run.
Tokens of replies: the ledger has earlier calls of the same asset, of any corpus, and shows how much
longer replies to longer prompts are (a report is longer, an answer is not).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.packaged import PACKAGED, PACKAGED_NAME
from gsum_resources.llm.stub_model import STUB, Recalled
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore, Partition

ENOUGH = 20  # earlier calls from which numbers are more reliable than an estimate
COUNTED, ESTIMATE, EARLIER = "counted", "estimate", "earlier calls"
_LEDGER = TABLES["llm_calls"]


@dataclass(frozen=True)
class Line:
    """Requests that a run would send for an asset.

    Attributes
    ----------
    stage : "query" where the asset depends on the corpus's questions, else "index".
    unit : "calls" of a language model, "texts" embedded or "pairs" scored.
    n : number of units to pay; calls include known repetitions after invalid replies.
    from_memo : number of requests that the memo answers.
    usd : price, US dollars.
    tokens_in_from, tokens_out_from : `COUNTED` by the model itself, an `ESTIMATE`, or derived from
        `EARLIER` calls.
    """

    asset: str
    stage: str
    unit: str
    n: int
    from_memo: int
    tokens_in: int
    tokens_out: int
    usd: float
    tokens_in_from: str = COUNTED
    tokens_out_from: str = COUNTED


@dataclass(frozen=True)
class Spoken:
    """Number of earlier calls of an asset, and sums over them.

    Attributes
    ----------
    tokens_in, tokens_out : sums of prompt tokens and of reply tokens.
    squares, products : sums of squared prompt tokens, and of prompt tokens times reply tokens.
    longest : longest reply, tokens.
    """

    n: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    squares: int = 0
    products: int = 0
    longest: int = 0

    def __add__(self, other: "Spoken") -> "Spoken":
        mine, theirs = astuple(self)[:-1], astuple(other)[:-1]
        sums = (a + b for a, b in zip(mine, theirs, strict=True))
        return Spoken(*sums, longest=max(self.longest, other.longest))

    def replies_to(self, n: int, tokens_in: float) -> int:
        """Return the total tokens of the replies to `n` prompts with `tokens_in` tokens in total.

        Reply length is a least-squares line over prompt length, at most the longest reply so far.
        """
        spread = self.n * self.squares - self.tokens_in**2
        slope = (self.n * self.products - self.tokens_in * self.tokens_out) / (spread or 1)
        longer = tokens_in / n - self.tokens_in / self.n
        return round(n * min(max(self.tokens_out / self.n + slope * longer, 0.0), self.longest))


def earlier_replies(store: ParquetStore) -> dict[tuple[str, str], Spoken]:
    """Return sums over the ledgers of all corpora, by asset and model, without failed calls."""
    replies: dict[tuple[str, str], Spoken] = defaultdict(Spoken)
    for folder in store.fs.glob(f"{store.root}/{_LEDGER.name}/corpus=*"):
        calls = read_appended(store, _LEDGER, Partition.from_path(folder).corpus)
        calls = calls.filter(pc.and_(pc.invert(calls["cached"]), pc.is_null(calls["error"])))
        read, written = (pc.cast(calls[name], "int64") for name in ("tokens_in", "tokens_out"))
        columns = [calls["asset"], calls["model"], read, written]
        columns += [pc.multiply(read, read), pc.multiply(read, written)]
        table = pa.table(columns, names=["asset", "model", "in", "out", "squares", "products"])
        sums = [(name, "sum") for name in table.column_names[2:]]
        of_asset = table.group_by(["asset", "model"]).aggregate(
            [("asset", "count"), *sums, ("out", "max")]
        )
        for asset, model, *spoken in zip(*(c.to_pylist() for c in of_asset.columns), strict=True):
            replies[asset, model] += Spoken(*spoken)
    return replies


def call_line(
    asset: str,
    stage: str,
    calls: Sequence[Mapping],
    recalled: Recalled,
    spoken: Spoken,
    settings: LlmSettings,
) -> Line:
    """Return the line of an asset that calls a language model.

    Parameters
    ----------
    calls : its rows of the dry run's ledger.
    recalled : replies of the real model in the memo, of the asset or, if these are few, of all
        assets that call the same model.
    spoken : replies of the asset's earlier calls.
    settings : settings of the model.
    """
    paid = [row for row in calls if not row["cached"]]
    line = Line(
        asset,
        stage,
        "calls",
        len(paid),
        len(calls) - len(paid),
        sum(row["tokens_in"] for row in paid),
        sum(row["tokens_out"] for row in paid),
        sum(row["cost_usd"] for row in paid),
    )
    if not any(row["model"] == STUB for row in paid):
        return line
    line = replace(line, tokens_in_from=ESTIMATE, tokens_out_from=ESTIMATE)
    if recalled.n >= ENOUGH:
        line = replace(
            line,
            n=round(line.n * recalled.calls / recalled.n),
            tokens_in=round(line.tokens_in * recalled.tokens_in / recalled.estimated),
            tokens_in_from=EARLIER,
        )
    if spoken.n >= ENOUGH and paid:
        tokens_out = spoken.replies_to(len(paid), line.tokens_in)
        line = replace(line, tokens_out=tokens_out, tokens_out_from=EARLIER)
    if settings.backend != "openai_compatible":  # a local model costs nothing
        return replace(line, usd=0.0)
    prices = settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out
    return replace(line, usd=(line.tokens_in * prices[0] + line.tokens_out * prices[1]) / 1e6)


def model_name(settings: LlmSettings) -> str:
    """Return the model's name in the ledger: for a local folder, the folder's name."""
    if settings.backend == PACKAGED:
        return PACKAGED_NAME
    local = settings.backend == "transformers_local" and Path(settings.model).is_dir()
    return Path(settings.model).name if local else settings.model


def embedding_lines(
    rows: pa.Table, units: Mapping[str, str], stages: Mapping[str, str]
) -> Iterator[Line]:
    """Yield a line for each asset that calls a served embedder or scorer.

    Parameters
    ----------
    rows : the dry run's `embedding_calls`.
    units : "texts" or "pairs" by identity of a served model; others cost nothing.
    stages : "query" or "index" by asset.
    """
    sums = rows.group_by(["asset", "model"]).aggregate(
        [("n_texts", "sum"), ("tokens_in", "sum"), ("cost_usd", "sum")]
    )
    for row in sums.sort_by("asset").to_pylist():
        if unit := units.get(row["model"]):
            spent = row["n_texts_sum"], 0, row["tokens_in_sum"], 0, row["cost_usd_sum"]
            yield Line(row["asset"], stages[row["asset"]], unit, *spent, ESTIMATE, ESTIMATE)
