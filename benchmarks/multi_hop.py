"""Chained facts: questions of 2, 3 and 4 hops over passages that share only names, as a corpus.

    python -m benchmarks.multi_hop HOME [--seed 7] [--questions 500]
    gsum run chained-facts --methods dense,hybrid,hippo-rag
    python -m benchmarks.graphs HOME:chained-facts

A generated world of made-up names (who was born where, which river a town lies on …) has each fact
in a passage of its own, a document, among passages about the same names that say something else and
share the words of the relations. A question names the first entity of a chain of 2, 3 or 4 facts
and the relations.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, write_corpus
from gsum_assets.corpus.load import Document

CORPUS = "chained-facts"
HOPS = (2, 3, 4)
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
    def contents(self) -> Contents:
        """The passages as documents, and the same number of questions of each length."""
        rng = random.Random(f"{self.seed} questions")
        contents = Contents([Document(name, "", text) for name, text in self.texts.items()])
        chains = {n: list(self._chains(n)) for n in HOPS}
        drawn = [
            (n, *chain)
            for i, n in enumerate(HOPS)
            for chain in rng.sample(chains[n], len(range(i, self.n_questions, len(HOPS))))
        ]
        for i, (n, asked, passages) in enumerate(drawn):
            text = f"What is the name of {asked}?"
            contents.ask(f"{n} hops {i:03d}", text, [], split="dev", relevant_document_ids=passages)
        return contents

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


def main() -> None:
    """Write the corpus to a home."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--questions", type=int, default=500)
    chosen = parser.parse_args()
    contents = World(chosen.seed, chosen.questions).contents
    benchmark = Benchmark("Chained facts", "report", "", lambda _: contents)
    report = write_corpus(benchmark, contents, chosen.home / "corpora" / CORPUS)
    print(f"{report.corpus}: {report.n_documents:,} documents, {report.n_queries:,} questions")


if __name__ == "__main__":
    main()
