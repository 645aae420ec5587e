"""`transformers serve` as a real server, with a tiny random model: real sockets, useless text."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 900.0  # against hanging alone: a slow machine is no failure
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}"
    "{% endfor %}assistant: "
)


def byte_tokenizer(*marks: str) -> Any:
    """A tokenizer whose tokens are `marks` and single bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokens = [*marks, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def write_causal_lm(folder: Path, context: int = 4096) -> Path:
    """A Llama of two layers and 32 dimensions over single bytes, with a chat template."""
    import torch
    import transformers

    tokenizer = byte_tokenizer("<s>", "</s>")
    namespace: Any = transformers  # its lazy names are unknown to the type checker
    fast = namespace.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = namespace.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=context,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    namespace.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@contextmanager
def transformers_serve(model: Path, log: Path) -> Iterator[str]:
    """Serve `model` on a free port of the loopback address; gives the base URL."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    with log.open("w") as output:
        server = subprocess.Popen(
            command, env={**os.environ, **quiet}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    """Return once `url` answers; fail with the server's log if it ends or takes too long."""
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE_S:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"{url} did not answer: {log.read_text()}")
