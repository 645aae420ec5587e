"""Entities drawn from the graph of a corpus, and its report titles, to be judged by reading.

    python -m benchmarks.entities sample-meetings --home data --number 100 --seed 45

Judge each entity by two criteria: an analyst of the corpus would keep it; its type is right.
"""

import argparse
import random

import gsum


def main() -> None:
    """Print entities as `name (type; chunks)`, in alphabetical order, and the titles by level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--home", default="data")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=45)
    given = parser.parse_args()
    home, corpus = gsum.open(given.home), given.corpus.replace("'", "''")
    of_corpus = f"WHERE corpus = '{corpus}'"
    entities = home.sql(
        f"SELECT name, type, n_mentions FROM graphrag.entities {of_corpus} ORDER BY entity_id"
    )
    rows = entities.to_dict("records")
    drawn = random.Random(given.seed).sample(rows, min(given.number, len(rows)))
    print(f"{len(drawn)} of {len(rows)} entities:")
    for row in sorted(drawn, key=lambda row: row["name"].casefold()):
        print(f"{row['name']} ({row['type']}; {row['n_mentions']})")
    reports = home.sql(
        f"SELECT level, title FROM graphrag.community_reports {of_corpus} ORDER BY level, title"
    )
    print(f"\n{len(reports)} titles of reports:")
    for row in reports.to_dict("records"):
        print(f"{row['level']}: {row['title']}")


if __name__ == "__main__":
    main()
