"""An embedding model in a local folder, as sentence-transformers exports it to ONNX."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.base.errors import BadUsage

Encode = Callable[[Sequence[str]], NDArray[np.floating]]
"""Returns one vector per text, in order, of any length."""

_MODEL_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_quantized.onnx",
)
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
_POOLING = "1_Pooling/config.json"
_DIGEST_CHARS = 12
_SENTENCE = "sentence_embedding"
"""The output of models that pool by themselves."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def is_folder(model: str) -> bool:
    """Return whether a name of a model is the path of a folder.

    A folder of the working directory is written `./NAME`: the author of the working directory must
    not replace a model by a folder of its name.
    """
    return Path(model).is_absolute() or model.startswith(("/", ".", "~", "\\"))


def check_folder(folder: Path) -> Path:
    """Return the file of the model, after a check that nothing is missing.

    Raises:
        BadUsage: a file is missing; names it.
    """
    if not folder.is_dir():
        raise BadUsage(f"the folder of the embedding model `{folder}` does not exist")
    for name in _TOKENIZER_FILES:
        if not (folder / name).exists():
            raise BadUsage(f"the folder of the embedding model `{folder}` has no `{name}`")
    found = next((folder / name for name in _MODEL_FILES if (folder / name).exists()), None)
    if found is None:
        names = ", ".join(f"`{name}`" for name in _MODEL_FILES)
        raise BadUsage(f"the folder of the embedding model `{folder}` has none of {names}")
    return found


def folder_name(folder: Path) -> str:
    """Return the folder's own name with a digest of its model: equal on every machine."""
    digest = hashlib.sha256()
    for path in (check_folder(folder), folder / _TOKENIZER_FILES[0], folder / _POOLING):
        if path.exists():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{folder.resolve().name}/{digest.hexdigest()[:_DIGEST_CHARS]}"


def load_folder(folder: Path) -> Encode:
    """Load the model; opens no connection.

    Raises:
        BadUsage: a file is missing, or not what it should be.
    """
    from fastembed.common.preprocessor_utils import load_tokenizer  # noqa: PLC0415 - an extra
    from onnxruntime import InferenceSession  # noqa: PLC0415 - an extra

    path = check_folder(folder)
    try:
        tokenizer, _ = load_tokenizer(folder)
        session = InferenceSession(str(path), providers=["CPUExecutionProvider"])
        pooling = _pooling(folder)
    # The packages raise any exception about a file that is not valid.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadUsage(f"the embedding model in `{folder}` cannot be loaded: {reason}") from error
    inputs = [node.name for node in session.get_inputs() if node.name in _INPUTS]
    outputs = [node.name for node in session.get_outputs()]
    output = _SENTENCE if _SENTENCE in outputs else outputs[0]

    def encode(texts: Sequence[str]) -> NDArray[np.floating]:
        encodings = tokenizer.encode_batch(list(texts))
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        values = dict(zip(_INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
        (result,) = session.run([output], {name: values[name] for name in inputs})
        return pooling(np.asarray(result), mask)

    return encode


def _pooling(folder: Path) -> Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]]:
    """Return the function from vectors of tokens to one of each text; by default the mean."""
    path = folder / _POOLING
    config = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    is_cls = bool(config.get("pooling_mode_cls_token"))

    def pool(result: NDArray[Any], mask: NDArray[np.int64]) -> NDArray[Any]:
        if result.ndim == 2:  # noqa: PLR2004 - the model pools by itself
            return result
        if is_cls:
            return result[:, 0]
        weights = mask[:, :, None].astype(result.dtype)
        means: NDArray[Any] = (result * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return means

    return pool
