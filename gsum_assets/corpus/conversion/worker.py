"""Worker process that converts files, since native code may crash on a broken file.

It receives extensions and contents over a pipe, and sends objects of JSON: progress as `{"done": 3,
"total": 9}`, then the text or the reason of the failure.
"""

import json
import sys
from dataclasses import asdict
from importlib import import_module
from multiprocessing.connection import Connection

from gsum_assets.corpus.conversion.formats import FORMATS, ConversionError, Converted, Report
from gsum_assets.corpus.conversion.pictures import without_pictures

MOST_MEMORY = 4 << 30  # bytes; a small archive may unpack to any size


def convert(suffix: str, content: bytes, report: Report = lambda done, total: None) -> Converted:
    """Return the text of a file in this process.

    Raises `ConversionError` if the file has no readable text.
    """
    entry = FORMATS[suffix]
    module = import_module(f"gsum_assets.corpus.conversion.{entry.module}")
    try:
        return without_pictures(getattr(module, f"convert_{entry.name}")(content, report))
    except MemoryError:
        raise ConversionError(
            f"needs more than {MOST_MEMORY >> 30} GiB of memory to read; split it"
        ) from None
    except RecursionError:
        raise ConversionError("its parts are nested too deeply; save it again") from None


def serve(link: Connection) -> None:
    """Convert the files that arrive until the other end of the pipe is closed."""

    def send(message: dict) -> None:
        link.send_bytes(json.dumps(message).encode())

    while True:
        try:
            suffix, content = link.recv_bytes().decode(), link.recv_bytes()
        except (EOFError, ConnectionError):
            return
        try:
            converted = convert(
                suffix, content, lambda done, total: send({"done": done, "total": total})
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
    _limit_memory()
    serve(Connection(int(sys.argv[1])))
