"""`CrossEncoder`: a local model that reads a question and a passage together."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gsum_resources.embedding.processor import physical_cores, torch_threads

_BATCH = 8  # passages at a time
_MOST_TOKENS = 512  # of question and passage, which these models were trained with


class CrossEncoder:
    """A sequence classifier of the transformers library, loaded on first use.

    The score is its one output; of two, how much more likely the second is, in logits.

    Parameters
    ----------
    folder : as written by `save_pretrained`, with the tokenizer.
    setting : name of the setting, for errors.
    threads : number of torch threads; None: the physical cores available to the process.
    """

    def __init__(self, folder: str, setting: str, threads: int | None = None) -> None:
        self._folder = Path(folder).expanduser()
        self._setting = setting
        self._threads = threads or physical_cores()

    def score(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return how well each passage answers the question, `(n_passages,)`; no fixed scale.

        Raises `ValueError` if there is no such folder, or no classifier of one or two classes in
        it.
        """
        import torch

        tokenizer, model = self._loaded
        scores = []
        with torch.inference_mode(), torch_threads(self._threads):
            for first in range(0, len(passages), _BATCH):
                batch = list(passages[first : first + _BATCH])
                encoded = tokenizer(
                    [question] * len(batch),
                    batch,
                    truncation=True,
                    max_length=min(_MOST_TOKENS, tokenizer.model_max_length),
                    padding=True,
                    return_tensors="pt",
                )
                logits = model(**encoded).logits.float()
                scores.append(logits[:, -1] - (logits[:, 0] if logits.shape[1] == 2 else 0))
        return torch.cat(scores).numpy() if scores else np.empty(0, np.float32)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The tokenizer and the model."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        if not (self._folder / "config.json").is_file():
            raise self._error("there is no config.json in this folder")
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._folder)
            model, report = AutoModelForSequenceClassification.from_pretrained(
                self._folder, output_loading_info=True
            )
        except (OSError, ValueError) as error:
            raise self._error(str(error).strip().splitlines()[0]) from error
        if missing := sorted(report["missing_keys"]):
            raise self._error(
                f"its weights lack '{missing[0]}', so that it is no trained classifier"
            )
        if model.config.num_labels > 2:
            raise self._error(f"it has {model.config.num_labels} classes, not a score of relevance")
        return tokenizer, model.eval()

    def _error(self, reason: str) -> ValueError:
        return ValueError(
            f"{self._setting} = '{self._folder}': {reason}; give the folder of a cross-encoder "
            "with one or two outputs, such as a download of cross-encoder/ms-marco-MiniLM-L6-v2, "
            'or "query_likelihood", "late_interaction" or ""'
        )
