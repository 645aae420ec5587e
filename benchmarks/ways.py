"""Count the files of the product that run on three ways: `python -m benchmarks.ways [--files]`.

A document's text from its folder to the rows of `chunks`; a question that `bm25` answers; the
staleness of the files of a corpus. A file counts if one of its functions is called.
"""

import inspect
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

_ROOT = Path(__file__).resolve().parents[1]
_TEXT = "The ferry broke its pump in March. Ann ordered a new pump from the yard.\n"


def _files_of(work: Callable[[], object]) -> list[str]:
    """Return the files of the product whose functions a piece of work calls."""
    files = set()

    def note(frame, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:  # of a function, not a class
            files.add(code.co_filename)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(
        os.path.relpath(file, _ROOT) for file in files if file.startswith(f"{_ROOT}/gsum")
    )


def main() -> None:
    """Print the number of files of each way, and the files if asked."""
    from gsum_assets.answering.ask import ask
    from gsum_assets.answering.workspace import open_workspace
    from gsum_assets.corpus import observe
    from gsum_assets.refresh.inputs import Run
    from gsum_assets.refresh.staleness import Staleness
    from gsum_assets.refresh.step import refresh_step
    from gsum_assets.registry.declared import ORDERED
    from gsum_resources.settings.home import Home

    with TemporaryDirectory() as folder:
        home = Home(Path(folder), f"{folder}/warehouse")
        (home.corpora / "tales").mkdir(parents=True)
        (home.corpora / "tales" / "ferry.txt").write_text(_TEXT * 4)
        workspace = open_workspace(home)
        steps = {declared.name: declared for declared in ORDERED}

        def refresh(*names: str) -> None:
            for name in names:
                refresh_step(workspace, steps[name], "tales", ["bm25"], Run())

        def to_chunks() -> None:
            observe.sources(workspace.store, home.corpora, "tales")
            refresh("documents", "chunks")

        ways = {
            "a document's text, to chunks": _files_of(to_chunks),
            "staleness": _files_of(
                lambda: Staleness(workspace, "tales", frozenset(["bm25"])).due()
            ),
        }
        refresh("chunk_embeddings", "lightpal/candidates")
        ways["a question"] = _files_of(
            lambda: ask(open_workspace(home, quick=True), "tales", "What broke in March?", "bm25")
        )
        for name, files in ways.items():
            print(f"{name}: {len(files)} files")
            for file in files if "--files" in sys.argv else ():
                print(f"  {file}")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # duckdb prints about leaked objects at the end of a process that used torch
