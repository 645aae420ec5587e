"""Takes generated corpus folders through real runs, up to the embeddings of their chunks.

    python -m tests.fuzz.folders [--examples 200] [--seed N] [--timeout 300]

Whatever a folder holds, a run ends in time and without an exception; every valid file is a document
with its exact text, every other file a row of `rejected_documents`, and every chunk has a vector.
Ends with status 1 and the generated folder on the first failure. Permissions do not bind root, so
they are not tried here.
"""

import argparse
import faulthandler
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.embedding.embedder import LocalEmbedder
from tests.conftest import House, tables_only
from tests.fuzz.folder_plans import Expected, copies_in, plans, written
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at


def check(house: House, expected: Expected, counts: Counter[str]) -> None:
    """Raise an `AssertionError` if the tables are not what the folder must become."""
    listing = house.table("source_documents").to_pylist()
    documents = {row["document_id"]: row for row in house.table("documents").to_pylist()}
    rejected = house.table("rejected_documents").to_pylist()
    refused = {(row["file"], row["line"]) for row in rejected}
    ids = {(row["file"], row["line"]): row["document_id"] for row in listing}
    texts = {i: documents[ids[i]]["text"] for i in ids if i not in refused | expected.either}
    copies = copies_in([(row["file"], row["line"], row["reason"]) for row in rejected], expected)
    assert texts == {i: text for i, text in expected.texts.items() if i not in copies}
    assert refused - expected.either - copies == expected.rejected - copies
    assert all(row["reason"] for row in rejected)
    assert len(documents) + len(rejected) == len(ids) == len(listing)
    assert all(documents[ids[i]]["encoding"] for i in texts if not i[1])
    chunks = house.table("chunks").to_pylist()
    for chunk in chunks:
        text = documents[chunk["document_id"]]["text"]
        assert chunk["text"] == text[chunk["start"] : chunk["end"]]
    assert {chunk["document_id"] for chunk in chunks} == set(documents)
    vectors = house.table("chunk_embeddings")
    assert sorted(vectors["chunk_id"].to_pylist()) == sorted(c["chunk_id"] for c in chunks)
    if chunks:
        lengths = np.linalg.norm(np.array(vectors["embedding"].to_pylist()), axis=1)
        np.testing.assert_allclose(lengths, 1, atol=1e-4)
    counts.update(documents=len(documents), rejected=len(rejected), chunks=len(chunks))


def try_folder(plan: list, embedder: LocalEmbedder, timeout: float, counts: Counter[str]) -> None:
    """Run one generated folder; ends the process with all stacks if that takes too long."""
    root = Path(tempfile.mkdtemp(prefix="gsum-fuzz-"))
    faulthandler.dump_traceback_later(timeout, exit=True)
    try:
        with house_at(root) as house, written(house.folder, plan) as expected:
            (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
            house.embedder = embedder  # type: ignore[assignment]
            try:
                report = house.run(["bm25"])
            except CorpusError as error:
                reason = str(error)
                assert "holds no document" in reason, reason
                assert not expected.texts
                counts["folders without a document"] += 1
                return
            assert report.errors == []
            check(house, expected, counts)
            counts["folders that were run"] += 1
    finally:
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(root)


def main(examples: int, seed: int, timeout: float) -> int:
    """Try folders; the exit status."""
    counts: Counter[str] = Counter()
    embedder = LocalEmbedder(device="cpu", threads=1)
    began = reported = time.monotonic()

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
    )
    @given(plans(8))
    def every_folder(plan: list) -> None:
        nonlocal reported
        counts["examples"] += 1
        try:
            try_folder(plan, embedder, timeout, counts)
        except BaseException:
            print(f"seed {seed}; the folder:", *plan, sep="\n  ", flush=True)
            raise
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            print(f"{reported - began:.0f} s: {_summary(counts)}", flush=True)

    try:
        every_folder()
    except Exception:
        traceback.print_exc()
        print(f"failed with seed {seed}: {_summary(counts)}")
        return 1
    print(f"nothing found with seed {seed}: {_summary(counts)}")
    return 0


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in [name for name in os.environ if name.startswith("GSUM_")]:
        del os.environ[name]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one folder")
    given_arguments = parser.parse_args()
    with tables_only():
        sys.exit(main(given_arguments.examples, given_arguments.seed, given_arguments.timeout))
