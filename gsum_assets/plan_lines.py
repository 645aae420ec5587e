"""What a rehearsal asked, added up by asset, with tokens put right by what is known.

Tokens of an understudy are estimates. Two things are known better. What a prompt takes: the memo
had replies of the real model, whose tokens a server counted, to requests of the same rehearsal.
How long replies are: the ledger has earlier calls of the same asset, of any corpus, and tells how
much longer a reply is to a longer prompt (a report is, an answer is not).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pyarrow as pa

from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.arrow import pc
from gsum_resources.llm.packaged import PACKAGED, PACKAGED_NAME
from gsum_resources.llm.stub_model import STUB, Recalled
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.settings import LlmSettings

ENOUGH = 20  # earlier calls that tell more than an estimate
COUNTED, ESTIMATE, EARLIER = "counted", "estimate", "earlier calls"
_LEDGER = TABLES["llm_calls"]


@dataclass(frozen=True)
class Line:
    """What a run would ask on behalf of an asset.

    Attributes
    ----------
    stage : "query" where the asset depends on the corpus's questions, else "index".
    unit : what is counted: "calls" of a language model, "texts" embedded, "pairs" scored.
    n : of these, what must be paid; of calls, re-asks included as far as they are known.
    from_memo : requests that the memo answers.
    usd : price, US dollars.
    tokens_in_from, tokens_out_from : `COUNTED` by the model itself, an `ESTIMATE`, or told by
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
    """Earlier calls of an asset: how many, and sums over them.

    Attributes
    ----------
    tokens_in, tokens_out : of prompts and of replies.
    squares, products : of a prompt's tokens, and of these with its reply's.
    longest : reply, tokens.
    """

    n: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    squares: int = 0
    products: int = 0
    longest: int = 0

    def __add__(self, other: "Spoken") -> "Spoken":
        mine, theirs = astuple(self)[:-1], astuple(other)[:-1]
        sums = (one + another for one, another in zip(mine, theirs, strict=True))
        return Spoken(*sums, longest=max(self.longest, other.longest))

    def replies_to(self, n: int, tokens_in: float) -> int:
        """Tokens of the replies to `n` prompts of so many tokens together.

        A reply's length is a line over its prompt's, by least squares, up to the longest so far.
        """
        spread = self.n * self.squares - self.tokens_in**2
        slope = (self.n * self.products - self.tokens_in * self.tokens_out) / (spread or 1)
        longer = tokens_in / n - self.tokens_in / self.n
        return round(n * min(max(self.tokens_out / self.n + slope * longer, 0.0), self.longest))


def earlier_replies(store: ParquetStore) -> dict[tuple[str, str], Spoken]:
    """What the ledgers of all corpora have, by asset and model; failed calls do not count."""
    found: dict[tuple[str, str], Spoken] = defaultdict(Spoken)
    for folder in store.fs.glob(f"{store.root}/{_LEDGER.name}/corpus=*"):
        calls = read_appended(store, _LEDGER, Partition.from_path(folder).corpus)
        calls = calls.filter(pc.and_(pc.invert(calls["cached"]), pc.is_null(calls["error"])))
        read, said = (pc.cast(calls[name], "int64") for name in ("tokens_in", "tokens_out"))
        columns = [calls["asset"], calls["model"], read, said]
        columns += [pc.multiply(read, read), pc.multiply(read, said)]
        table = pa.table(columns, names=["asset", "model", "in", "out", "squares", "products"])
        sums = [(name, "sum") for name in table.column_names[2:]]
        of_asset = table.group_by(["asset", "model"]).aggregate(
            [("asset", "count"), *sums, ("out", "max")]
        )
        for asset, model, *spoken in zip(*(c.to_pylist() for c in of_asset.columns), strict=True):
            found[asset, model] += Spoken(*spoken)
    return found


def call_line(
    asset: str,
    stage: str,
    calls: Sequence[Mapping],
    recalled: Recalled,
    spoken: Spoken,
    settings: LlmSettings,
) -> Line:
    """The line of an asset that asks a language model.

    Parameters
    ----------
    calls : its rows of the rehearsal's ledger.
    recalled : replies of the real model that the memo had, of the asset or, where these are few,
        of all that ask the same model.
    spoken : replies of the asset's earlier calls.
    settings : of the model.
    """
    asked = [row for row in calls if not row["cached"]]
    line = Line(
        asset,
        stage,
        "calls",
        len(asked),
        len(calls) - len(asked),
        sum(row["tokens_in"] for row in asked),
        sum(row["tokens_out"] for row in asked),
        sum(row["cost_usd"] for row in asked),
    )
    if not any(row["model"] == STUB for row in asked):
        return line
    line = replace(line, tokens_in_from=ESTIMATE, tokens_out_from=ESTIMATE)
    if recalled.n >= ENOUGH:
        line = replace(
            line,
            n=round(line.n * recalled.calls / recalled.n),
            tokens_in=round(line.tokens_in * recalled.tokens_in / recalled.estimated),
            tokens_in_from=EARLIER,
        )
    if spoken.n >= ENOUGH and asked:
        tokens_out = spoken.replies_to(len(asked), line.tokens_in)
        line = replace(line, tokens_out=tokens_out, tokens_out_from=EARLIER)
    return replace(line, usd=_price(line, settings))


def model_name(settings: LlmSettings) -> str:
    """How the ledger names a model: a folder by its own name."""
    if settings.backend == PACKAGED:
        return PACKAGED_NAME
    local = settings.backend == "transformers_local" and Path(settings.model).is_dir()
    return Path(settings.model).name if local else settings.model


def _price(line: Line, settings: LlmSettings) -> float:
    """US dollars; a model of this machine has no price."""
    if settings.backend != "openai_compatible":
        return 0.0
    prices = settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out
    return (line.tokens_in * prices[0] + line.tokens_out * prices[1]) / 1e6


def embedding_lines(
    rows: pa.Table, units: Mapping[str, str], stages: Mapping[str, str]
) -> Iterator[Line]:
    """A line for each asset that asks a served embedder or scorer.

    Parameters
    ----------
    rows : the rehearsal's `embedding_calls`.
    units : "texts" or "pairs" by identity of a served model; others cost nothing.
    stages : by asset.
    """
    sums = rows.group_by(["asset", "model"]).aggregate(
        [("n_texts", "sum"), ("tokens_in", "sum"), ("cost_usd", "sum")]
    )
    for row in sums.sort_by("asset").to_pylist():
        if unit := units.get(row["model"]):
            spent = row["n_texts_sum"], 0, row["tokens_in_sum"], 0, row["cost_usd_sum"]
            yield Line(row["asset"], stages[row["asset"]], unit, *spent, ESTIMATE, ESTIMATE)
