"""Retrieval of chained facts, which share only names: are graphs above dense?

    python -m benchmarks.multi_hop [--seed 7] [--questions 500] [--store]

A generated world of made-up names (who was born where, which river a town lies on …) has each fact
in a passage of its own, among passages about the same names that say something else and share the
words of the relations. A question names the first entity of a chain of 2, 3 or 4 facts and the
relations.
"""

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gsum
from benchmarks import Measurement
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.store.parquet_store import ParquetStore

METHODS = ("dense", "bm25", "hybrid", "linear-rag", "hippo-rag")
HOPS = (2, 3, 4)
K = 5  # passages read
N = {"person": 250, "town": 100, "river": 40, "lake": 20, "province": 8, "book": 75, "company": 75}
RELATIONS = (  # from, to, how a question names the other end, and how passages say it
    (
        "book",
        "person",
        "the author of {}",
        ("{a} was written by {b}.", "The author {b} wrote {a}."),
    ),
    (
        *("company", "person", "the founder of {}"),
        ("{b} founded the company {a}.", "The company {a} was founded by {b}."),
    ),
    (
        *("person", "town", "the town where {} was born"),
        ("{a} was born in {b}.", "The town of {b} is where {a} was born."),
    ),
    (
        *("town", "river", "the river on which {} lies"),
        ("{a} lies on the river {b}.", "On the banks of the river {b} lies the town of {a}."),
    ),
    (
        *("river", "lake", "the lake into which {} flows"),
        ("The river {a} flows into {b}.", "{b} is fed by the river {a}."),
    ),
    (
        *("lake", "province", "the province to which {} belongs"),
        ("{a} belongs to the province of {b}.", "The province of {b} counts {a} as its own."),
    ),
)
OTHERS = {  # what else passages say
    "person": (
        "{} once rowed down a river with two friends.",
        "For years {} has painted towns by night.",
        "When asked about the place of birth, {} only laughs.",
    ),
    "town": (
        "Every autumn there is a market in {}, to which authors come from far away.",
        "Nobody remembers who founded the old mill of {}.",
    ),
    "river": (
        "In dry summers children walk across the river {}.",
        "A company wanted to build a bridge over the river {}.",
    ),
    "lake": ("Boats for hire wait at {} all summer.", "The author of a guide praised {}."),
    "province": ("The province of {} has a flag with a heron.",),
    "book": ("{} sold badly at first.", "A film of {} was planned in the province."),
    "company": (
        "{} employs forty people in a town by a lake.",
        "The river flooded the yard of {}.",
    ),
}
_FILLERS = (
    "It is often told.",
    "The records of the time agree.",
    "Little else is known about it.",
    "An old map shows it, too.",
    "This was long disputed.",
)
_ONSETS = [
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "z",
]
_VOWELS = ["a", "e", "i", "o", "u"]
_CODAS = ["l", "ln", "m", "n", "nd", "r", "rk", "rn", "s", "sk", "th", "x"]


@dataclass(frozen=True)
class World:
    """Facts of a seed, their passages, and questions about chains of them."""

    seed: int
    n_questions: int

    @cached_property
    def names(self) -> Mapping[str, Sequence[str]]:
        """Names by kind, all distinct."""
        rng, used = random.Random(f"{self.seed} names"), set[str]()

        def word(n_syllables: int) -> str:
            while True:
                parts = (rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(n_syllables))
                name = ("".join(parts) + rng.choice(_CODAS)).capitalize()
                if name not in used:
                    used.add(name)
                    return name

        forms = {
            "person": lambda: f"{word(1)} {word(2)}",
            "lake": lambda: f"Lake {word(2)}",
            "book": lambda: f"The {word(1)} of {word(2)}",
            "company": lambda: f"{word(2)} Works",
        }
        return {
            kind: [forms.get(kind, lambda: word(2))() for _ in range(n)] for kind, n in N.items()
        }

    @cached_property
    def facts(self) -> Mapping[tuple[str, str], str]:
        """The other end by kind and first end."""
        rng = random.Random(f"{self.seed} facts")
        return {
            (first, name): rng.choice(self.names[second])
            for first, second, _, _ in RELATIONS
            for name in self.names[first]
        }

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Passages by id: that of a fact is kind and first end."""
        rng, texts = random.Random(f"{self.seed} texts"), dict[str, str]()
        for kind, _, _, forms in RELATIONS:
            for name in self.names[kind]:
                fact = rng.choice(forms).format(a=name, b=self.facts[kind, name])
                texts[f"{kind} {name}"] = f"{fact} {rng.choice(_FILLERS)}"
        for kind, forms in OTHERS.items():
            for name in self.names[kind]:
                texts[f"{kind} {name}, else"] = (
                    f"{rng.choice(forms).format(name)} {rng.choice(_FILLERS)}"
                )
        return texts

    @cached_property
    def questions(self) -> Sequence[Mapping[str, Any]]:
        """Questions as `gsum.run` takes them, the same number of each length."""
        rng = random.Random(f"{self.seed} questions")
        chains = {n: list(self._chains(n)) for n in HOPS}
        drawn = [
            (n, *chain)
            for i, n in enumerate(HOPS)
            for chain in rng.sample(chains[n], len(range(i, self.n_questions, len(HOPS))))
        ]
        return [
            {
                "query_id": f"{n} hops {i:03d}",
                "text": f"What is the name of {asked}?",
                "relevant_document_ids": passages,
            }
            for i, (n, asked, passages) in enumerate(drawn)
        ]

    def _chains(self, n: int) -> Iterator[tuple[str, list[str]]]:
        """Yield what is asked for and the passages of each chain of `n` facts, in their order."""
        relation_of = {first: (second, phrase) for first, second, phrase, _ in RELATIONS}
        for start in relation_of:
            for name in self.names[start]:
                kind, end, asked, passages = start, name, name, list[str]()
                while len(passages) < n and kind in relation_of:
                    passages.append(f"{kind} {end}")
                    end = self.facts[kind, end]
                    kind, phrase = relation_of[kind]
                    asked = phrase.format(asked)
                if len(passages) == n:
                    yield asked, passages


def read_passages(world: World, method: str, embedder: Any) -> Mapping[str, Sequence[str]]:
    """Return the first `K` passages of each question by a method."""
    result = gsum.run(
        method, world.texts, world.questions, models={"embedding_model": embedder}, progress=False
    )
    chunks = result.tables["chunks"].set_index("chunk_id")["document_id"]
    rows = result.tables["rankings"].query(f"level == 'node' and rank <= {K}")
    read = rows["item_id"].map(chunks).groupby(rows["query_id"]).agg(list)
    return read.to_dict()


def measure(seed: int, n_questions: int) -> Iterator[Measurement]:
    """Yield a table for the recall of all facts, and one for the last fact."""
    world = World(seed, n_questions)
    gold = {q["query_id"]: q["relevant_document_ids"] for q in world.questions}
    with tempfile.TemporaryDirectory() as root:
        local: Any = LocalEmbedder(model="packaged")
        embedder = MemoizedEmbedder(local, ParquetStore(root))
        read = {}
        for method in METHODS:
            read[method] = read_passages(world, method, embedder)
            print(method, file=sys.stderr, flush=True)
    notes = (
        f"{len(world.texts):,} passages, {len(gold)} questions, seed {seed}; {K} passages are "
        "read; the embedded models. Differences from dense are paired, p is adjusted within "
        "a block (Holm)."
    )

    def table(title: str, score: Any) -> Measurement:
        rows = []
        for hops in (*HOPS, None):
            ids = [i for i in gold if hops is None or i.startswith(f"{hops} ")]
            scores = {m: [score(read[m].get(i, ()), gold[i]) for i in ids] for m in METHODS}
            label = "all" if hops is None else str(hops)
            rows += [[label, *row] for row in compared(scores, "dense", decimals=1)]
        return Measurement(title, notes, ["hops", "method", *COMPARED], rows)

    yield table(
        f"Chained facts: share of a chain's passages among the first {K}",
        lambda read, passages: len({*read} & {*passages}) / len(passages),
    )
    yield table(
        f"Chained facts: questions whose last passage, the answer, is among the first {K}",
        lambda read, passages: float(passages[-1] in read),
    )


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--questions", type=int, default=500)
    given = parser.parse_args()
    publish("multi_hop", measure(given.seed, given.questions), given.store)
