"""File of the models' weights, with what is needed to use them."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from gsum_assets.evidence.network import Model, Network
from gsum_assets.evidence.trees import Trees
from gsum_resources.store.checkpoints import pack, unpack

FILE = "weights.safetensors"
FORMAT = 1
_SCALES = ("mean", "deviation")


def packaged() -> Path:
    """Return the path of the packaged weights."""
    return Path(str(resources.files("gsum_assets.evidence") / FILE))


def load_network(name: str, file: Path | None = None) -> Network:
    """Return one of the networks of a file, see `load_model`."""
    model = load_model(name, file)
    assert isinstance(model, Network)
    return model


@cache
def load_model(name: str, file: Path | None = None) -> Model:
    """Return one of the models of a file.

    Parameters
    ----------
    name : "graph"; "own", which judges each passage alone; "gnn", which reads no hand-made feature
        of the graph; or "gbm", trees instead of networks.
    file : None: the packaged weights.

    Raises
    ------
    ValueError
        If the file has another format or no such model.
    """
    from safetensors import safe_open

    path = file or packaged()
    with safe_open(path, "numpy") as opened:
        metadata = opened.metadata() or {}
        if metadata.get("format") != str(FORMAT):
            raise ValueError(
                f"{path}: weights of format {metadata.get('format')}, not {FORMAT}; make them "
                "again with python -m benchmarks.evidence train"
            )
        named = [key for key in opened.keys() if key.startswith(f"{name}/")]  # noqa: SIM118
        if not named:
            present = sorted({key.partition("/")[0] for key in opened.keys()})  # noqa: SIM118
            raise ValueError(f"{path}: no model '{name}'; use {' or '.join(present)}")
        arrays = {key.removeprefix(f"{name}/"): opened.get_tensor(key) for key in named}
    mean, deviation = (arrays.pop(scale) for scale in _SCALES)
    kind = Network if "input.weight" in arrays else Trees
    return kind(json.loads(metadata[f"{name}.features"]), mean, deviation, arrays)


def save_models(models: Mapping[str, Model], file: Path, data: str) -> None:
    """Write models by name to one file."""
    from safetensors.numpy import save_file

    arrays: dict[str, np.ndarray] = {}
    metadata = {"format": str(FORMAT), "data": data}
    for name, model in models.items():
        metadata[f"{name}.features"] = json.dumps(list(model.names), ensure_ascii=False)
        of_model = {"mean": model.mean, "deviation": model.deviation, **model.weights}
        for key, values in of_model.items():
            arrays[f"{name}/{key}"] = np.ascontiguousarray(values, np.float32)
    save_file(arrays, file, metadata)


def packed(network: Network) -> bytes:
    """Return a network as safetensors bytes, equal for equal networks."""
    arrays = {"mean": network.mean, "deviation": network.deviation, **network.weights}
    arrays = {name: np.asarray(values, np.float32) for name, values in arrays.items()}
    return pack(arrays, {"features": list(network.names)})


def unpacked(content: bytes) -> Network:
    """Return the network in the bytes that `packed` returned."""
    arrays, description = unpack(content)
    mean, deviation = (arrays.pop(scale) for scale in _SCALES)
    return Network(description["features"], mean, deviation, arrays)
