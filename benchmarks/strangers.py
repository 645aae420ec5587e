"""Questions asked of another document than their own: how many are refused.

    python -m benchmarks.strangers qmsum PATH

imports a benchmark, asks each specific question of its own document and of another one, which is
drawn by a seed and marked as not answering it, and prints how well `answerability` tells them
apart.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gsum


def main(benchmark: str, path: str, seed: int = 7) -> None:
    """Print the separation for a benchmark's files."""
    with tempfile.TemporaryDirectory() as root:
        environment = os.environ | {"GSUM_HOME": root}

        def run(*arguments: str) -> None:
            command = [sys.executable, "-m", "gsum_assets.cli.main", *arguments]
            subprocess.run(command, env=environment, check=True, stdout=sys.stderr)

        run("import", benchmark, str(Path(path).resolve()), "--corpus", "strangers")
        add_strangers(Path(root) / "corpora/strangers/queries.jsonl", random.Random(seed))
        settings = Path(root) / "corpora/strangers/corpus.toml"
        settings.write_text(f"{settings.read_text()}\n[scores]\nbertscore = false\n")
        run("run", "strangers", "--methods", "random")
        rows = gsum.open(root).sql(
            "select query_id, coalesce(probability, 1) as p, is_answered, is_answerable from "
            "answerability join queries using (corpus, query_id) where kind <> 'general'"
        )
    own = rows[rows.is_answerable.isna()]
    strange = rows[rows.is_answerable.notna()]
    low, high = strange.p.to_numpy()[:, None], own.p.to_numpy()[None]
    bound = np.quantile(own.p, 0.03, method="lower")
    print(f"{len(own)} questions of their own document, {len(strange)} of another")
    print(f"AUROC {((high > low) + 0.5 * (high == low)).mean():.3f}")
    print(
        f"refused by the default threshold: {1 - own.is_answered.mean():.1%} of the own, "
        f"{1 - strange.is_answered.mean():.1%} of the others"
    )
    print(f"at 3% of the own: {(strange.p < bound).mean():.1%} of the others")


def add_strangers(file: Path, rng: random.Random) -> None:
    """Add each specific question once more, asked of another document."""
    questions = [json.loads(line) for line in file.read_text().splitlines()]
    documents = sorted({question["document_id"] for question in questions})
    specific = [question for question in questions if question["kind"] != "general"]
    strangers = [
        {
            **{name: question[name] for name in ("text", "retrieval_text", "kind", "split")},
            "query_id": f"{question['query_id']}-other",
            "document_id": rng.choice([d for d in documents if d != question["document_id"]]),
            "answerable": False,
        }
        for question in specific
    ]
    lines = [json.dumps(question) + "\n" for question in [*questions, *strangers]]
    file.write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:3])
