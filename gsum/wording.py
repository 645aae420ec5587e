"""Messages of the pipeline in the words of the library: its arguments instead of files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

_WORDS = {
    "gsum.toml": "the argument settings",
    "corpus.toml": "the argument settings",
    "--explain": "explain",
}
_NAMED = re.compile("|".join(rf"(?<![\w/]){re.escape(word)}\b" for word in _WORDS))


def of_arguments(message: str) -> str:
    """Return a message about a file of settings as one about the argument of `gsum.run`."""
    return _NAMED.sub(lambda match: _WORDS[match.group()], message)


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Let errors raised in this context name arguments; their type and traceback stay."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = of_arguments(error.args[0]), *error.args[1:]
        raise
