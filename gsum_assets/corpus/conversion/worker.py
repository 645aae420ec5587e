"""Worker process that converts files, since native code may crash on a broken file.

For each file it reads from standard input a line of JSON (`suffix`, `size`) and `size` bytes, and
writes lines of JSON: progress as `{"done": 3, "total": 9}`, then the text or the reason of the
failure. `converter` starts it.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import IO

from gsum_assets.corpus.conversion.epub import convert_epub
from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from gsum_assets.corpus.conversion.html import convert_html
from gsum_assets.corpus.conversion.mail import convert_eml, convert_mbox
from gsum_assets.corpus.conversion.office import convert_docx, convert_pptx
from gsum_assets.corpus.conversion.pdf import convert_pdf

MOST_MEMORY = 4 << 30  # bytes; a small archive may unpack to any size

Report = Callable[[int, int], None]
_CONVERTERS: dict[str, Callable[[bytes, Report], Converted]] = {
    ".pdf": convert_pdf,
    ".docx": lambda content, _: convert_docx(content),
    ".pptx": convert_pptx,
    ".html": lambda content, _: convert_html(content),
    ".htm": lambda content, _: convert_html(content),
    ".xhtml": lambda content, _: convert_html(content),
    ".epub": convert_epub,
    ".eml": lambda content, _: convert_eml(content),
    ".mbox": lambda content, _: convert_mbox(content),
}


def convert(suffix: str, content: bytes, report: Report = lambda done, total: None) -> Converted:
    """Return the text of a file in this process.

    Raises
    ------
    ConversionError
        If the file has no readable text.
    """
    try:
        return _CONVERTERS[suffix](content, report)
    except MemoryError:
        raise ConversionError(
            f"needs more than {MOST_MEMORY >> 30} GiB of memory to read; split it"
        ) from None


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Convert the files that arrive on `source` until it ends."""

    def send(message: dict) -> None:
        target.write(json.dumps(message).encode() + b"\n")
        target.flush()

    while line := source.readline():
        header = json.loads(line)
        content = source.read(header["size"])
        try:
            found = convert(
                header["suffix"], content, lambda done, total: send({"done": done, "total": total})
            )
            send(asdict(found))
        except ConversionError as error:
            send({"problem": str(error)})
        except Exception as error:  # the worker continues with other files
            reason = f"{type(error).__name__}: {error}"[:200]
            send({"problem": f"cannot be converted ({reason}); save it again in another program"})


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # keep output of libraries out of the replies
    _limit_memory()
    serve(sys.stdin.buffer, answers)
