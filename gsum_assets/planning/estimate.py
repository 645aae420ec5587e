"""The requests of a step: its stale units times requests and tokens for each."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.units import FoundStaleness, Passage, passages_of
from gsum_assets.registry.declared import Declared
from gsum_resources.store.parquet_store import Partition

_REPORTS_OF_NEW = 3  # reports of communities that a new passage changes, on the samples
_CONTEXTS, _OF_NODE = TABLES["contexts"], ("node_kind", "document_id")


class Amount(NamedTuple):
    """Units, and the word pieces of the texts that their requests show."""

    n: float = 0.0
    text: float = 0.0


class Requests(NamedTuple):
    """Requests with their calls, and the tokens of prompts and replies."""

    n: float = 0.0
    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0


def _sum(amounts: Iterable[tuple[float, ...]]) -> Iterator[float]:
    return map(sum, zip(*amounts, strict=True))


@dataclass(frozen=True)
class Estimate:
    """The requests of the steps that are due for a corpus."""

    stale: FoundStaleness

    @cached_property
    def _found(self) -> tuple[list[Passage], set[str]]:
        return passages_of(self.stale)

    @cached_property
    def _sizes(self) -> dict[str | None, float]:
        """Word pieces of a document on average, and with the key None of all."""
        texts = [p.n_tokens * p.n_like_it for p in self._found[0]]
        n_documents = sum(rows.num_rows for rows in self.stale.listed.values())
        return {"": sum(texts) / max(n_documents, 1), None: sum(texts)}

    def of(
        self, declared: Declared, costs: Sequence[Cost], work: Mapping[Partition, bool]
    ) -> Requests:
        """Return what a step requests of one of its models for stale files, see `Work`."""
        parts = [Requests()]
        for cost in costs:
            sending = [m for m in declared.methods if m in self.stale.methods and cost.sends(m)]
            times = self.stale.setting(cost.times) if cost.times else 1
            factor = cost.requests * times
            for file, is_whole in work.items():
                if cost.sends(file.method):
                    is_first = file.method in (None, *sending[:1])
                    share = factor * (1.0 if is_first else 1.0 - cost.repeated)
                    if cost.unit == "question" and not is_whole:
                        share *= self._share_of_questions(file)
                    n, text = (value * share for value in self._units(cost, file, is_whole))
                    tokens_in = n * cost.tokens_in + text * cost.text_in
                    tokens_out = n * cost.tokens_out + text * cost.text_out
                    parts.append(Requests(n, n * cost.calls, tokens_in, tokens_out))
        return Requests(*_sum(parts))

    def _units(self, cost: Cost, file: Partition, is_whole: bool) -> Amount:
        if cost.unit == "generated question":
            return Amount(self.stale.n_generated)
        if cost.unit == "verdict":
            return Amount(self.stale.n_verdicts)
        if cost.unit != "question":
            return self._texts(cost, file, is_whole)
        amounts = [Amount(float(self.stale.n_generated))]
        for document_id in self.stale.answered:
            size = self._sizes[document_id and ""]
            if cost.reads_all:
                amounts.append(Amount(1.0, min(size, self.stale.setting(cost.reads_all))))
            elif cost.length:
                length = self.stale.setting(cost.length)
                n = math.ceil(size / length) * (size > length)
                amounts.append(Amount(n, size * (n > 0)))
            else:
                amounts.append(Amount(1.0))
        return Amount(*_sum(amounts))

    def _share_of_questions(self, file: Partition) -> float:
        """Return the share of questions that are new, or whose passages an edit may change."""
        (passages, changed), store = self._found, self.stale.workspace.store
        n_gone = len(changed - {p.document_id for p in passages})
        n_new_passages = sum(p.is_new * p.n_like_it for p in passages)
        n_added = max(n_new_passages - n_gone, 0)
        hit: dict[str, float] = defaultdict(float)
        for row in store.read(_CONTEXTS, [file], ["query_id", "node_id", *_OF_NODE])[0].to_pylist():
            identity = row["node_id" if row["node_kind"] == "chunk" else "document_id"]
            is_report = row["node_kind"] == "report"
            n_likely = _REPORTS_OF_NEW * n_new_passages if is_report else n_added
            likely = 1.0 if identity in changed else n_likely / max(len(passages), 1)
            hit[row["query_id"]] = min(hit[row["query_id"]] + likely, 1.0)
        n_hit = sum(hit.values()) + self.stale.n_new_questions
        return min(n_hit / (self.stale.n_questions or 1), 1.0)

    def _texts(self, cost: Cost, file: Partition, is_whole: bool) -> Amount:
        """Return the number of stale passages, documents, or texts of some length."""
        documents: dict[tuple[str, float], list[Passage]] = defaultdict(list)
        for passage in self._found[0]:
            if file.bucket in (None, passage.bucket):
                documents[passage.document_id, passage.n_like_it].append(passage)
        amounts = [Amount()]
        for (_, n_like_it), passages in documents.items():
            is_all = is_whole or (cost.whole_documents and passages[0].is_edited)
            chosen = [passage for passage in passages if is_all or passage.is_new]
            size, factor = sum(passage.n_tokens for passage in chosen), n_like_it
            if len(chosen) < len(passages):
                factor *= cost.edited
            n = float(len(chosen))
            if cost.length and (length := self.stale.setting(cost.length)):  # 0: each alone
                n = math.ceil(size / length)
            elif cost.unit == "document":
                n /= len(passages)
            amounts.append(Amount(n * factor, size * factor))
        return Amount(*_sum(amounts))
