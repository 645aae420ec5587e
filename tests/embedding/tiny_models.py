"""Small random models written to a folder, so that tests need no download."""

import json
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {
    "vocab_size": len(SPECIAL) + len(LETTERS),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    # Larger than usual, so that vectors of different texts differ plainly.
    "initializer_range": 0.5,
}


def write_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer that knows single letters: "a b c" is three tokens."""
    import transformers

    namespace: Any = transformers  # its lazy names are unknown to the type checker
    vocabulary = folder / "vocab.txt"
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary.write_text("\n".join([*SPECIAL, *LETTERS]) + "\n", encoding="utf-8")
    namespace.BertTokenizerFast(vocab=str(vocabulary), model_max_length=40).save_pretrained(folder)


def write_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT of two layers and 32 dimensions without sentence-transformers files."""
    import torch
    from transformers import BertConfig, BertModel

    write_tokenizer(folder)
    torch.manual_seed(seed)
    BertModel(BertConfig(**SIZES)).save_pretrained(folder)
    return folder


def write_dpr(folder: Path, kind: str, seed: int) -> Path:
    """One of DPR's encoders, "Context" or "Question", of the same size."""
    import torch
    import transformers

    write_tokenizer(folder)
    torch.manual_seed(seed)
    encoder = getattr(transformers, f"DPR{kind}Encoder")
    encoder(transformers.DPRConfig(**SIZES)).save_pretrained(folder)
    return folder


def write_pooling(folder: Path, config: dict) -> None:
    """The sentence-transformers description of a model's pooling."""
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config), encoding="utf-8")


def token_ids(text: str) -> list[int]:
    """Return the tokens of letters split by spaces, without special tokens."""
    return [len(SPECIAL) + LETTERS.index(letter) for letter in text.split()]
