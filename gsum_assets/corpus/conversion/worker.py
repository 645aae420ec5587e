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

from gsum_assets.corpus.conversion.captions import convert_captions
from gsum_assets.corpus.conversion.formats import FORMATS, ConversionError, Converted
from gsum_assets.corpus.conversion.html import convert_epub, convert_html
from gsum_assets.corpus.conversion.latex import convert_latex
from gsum_assets.corpus.conversion.mail import convert_eml, convert_mbox
from gsum_assets.corpus.conversion.notebook import convert_notebook
from gsum_assets.corpus.conversion.office import (
    convert_docx,
    convert_odt,
    convert_pptx,
    convert_rtf,
    convert_workbook,
)
from gsum_assets.corpus.conversion.pdf import convert_pdf
from gsum_assets.corpus.conversion.restructured import convert_rst

MOST_MEMORY = 4 << 30  # bytes; a small archive may unpack to any size

Report = Callable[[int, int], None]
CONVERTERS: dict[str, Callable[[bytes, Report], Converted]] = {
    "pdf": convert_pdf,
    "docx": lambda content, _: convert_docx(content),
    "odt": lambda content, _: convert_odt(content),
    "rtf": lambda content, _: convert_rtf(content),
    "pptx": convert_pptx,
    "workbook": convert_workbook,
    "html": lambda content, _: convert_html(content),
    "epub": convert_epub,
    "message": lambda content, _: convert_eml(content),
    "mailbox": lambda content, _: convert_mbox(content),
    "captions": lambda content, _: convert_captions(content),
    "rst": lambda content, _: convert_rst(content),
    "latex": lambda content, _: convert_latex(content),
    "notebook": lambda content, _: convert_notebook(content),
}
"""The function of each converter in `FORMATS`."""


def convert(suffix: str, content: bytes, report: Report = lambda done, total: None) -> Converted:
    """Return the text of a file in this process.

    Raises
    ------
    ConversionError
        If the file has no readable text.
    """
    try:
        return CONVERTERS[FORMATS[suffix].name](content, report)
    except MemoryError:
        raise ConversionError(
            f"needs more than {MOST_MEMORY >> 30} GiB of memory to read; split it"
        ) from None
    except RecursionError:
        raise ConversionError("its parts are nested too deeply; save it again") from None


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Convert the files that arrive on `source` until it ends."""

    def send(message: dict) -> None:
        target.write(json.dumps(message).encode() + b"\n")
        target.flush()

    while line := source.readline():
        header = json.loads(line)
        content = source.read(header["size"])
        try:
            converted = convert(
                header["suffix"], content, lambda done, total: send({"done": done, "total": total})
            )
            send(asdict(converted))
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
