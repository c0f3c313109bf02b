"""Embedding models that run on this machine, by fastembed or from a local folder.

A folder is as sentence-transformers exports a model to ONNX.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.base.batched import batched
from turnetl.base.errors import BadUsage, ModelUnusable
from turnetl.base.model import Vector
from turnetl.llm.vectors import pack

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
    """Return the file of the model; raise BadUsage, which names it, if a file is missing."""
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


PROVIDER = "fastembed"
_BATCH_SIZE = 32
"""Texts. Texts of one batch are padded to the longest; larger batches only need more memory."""
_EMPTY = "-"
"""Embedded for an empty text: some models have no vector for one."""
_TIMEOUT = 10.0
"""Seconds to wait for Hugging Face's response about a model."""
_PROBE = "length"
_MEGABYTES = 1_000
"""In a gigabyte, as fastembed counts."""

log = logging.getLogger(__name__)


class FastEmbedEmbedder:
    """A model that is loaded at its first use, and downloaded before that if it is not here yet."""

    def __init__(self, model: str, cache: Path) -> None:
        """Check the model's name, or its folder with ONNX model and tokenizer; open nothing yet."""
        if find_spec(PROVIDER) is None:
            raise BadUsage(
                f"the embedder `{PROVIDER}` is not installed: run `pip install 'turnetl[semantic]'`"
            )
        self._cache = cache
        self._folder = Path(model).expanduser() if is_folder(model) else None
        self._known = _description(model) if self._folder is None else {}
        path = folder_name(self._folder) if self._folder is not None else self._known["model"]
        self._name = f"{PROVIDER}/{path}"
        self._loading = Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        """The number that fastembed states, else that of a vector: loads the model of a folder."""
        return int(self._known["dim"]) if self._known else len(self._encode([_PROBE])[0])

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; other work goes on meanwhile."""
        return await asyncio.to_thread(self._embed, texts) if texts else []

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        used = [
            text.encode("utf-8", "replace").decode() if text.strip() else _EMPTY for text in texts
        ]
        vectors: list[Vector] = [Vector(b"")] * len(texts)
        # Texts of about one length need little padding.
        order = sorted(range(len(used)), key=lambda position: len(used[position]))
        for positions in batched(order, _BATCH_SIZE):
            rows = self._encode([used[position] for position in positions])
            for position, row in zip(positions, rows, strict=True):
                vectors[position] = pack(row)
        return vectors

    def _encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return vectors of unit length."""
        with self._loading:
            encode = self._model
        rows = np.asarray(encode(texts), dtype=np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise ModelUnusable(
                f"embedder `{self.name}` returned a vector of length zero or infinity: "
                "use another model"
            )
        unit: NDArray[np.floating[Any]] = rows / lengths
        return unit

    @cached_property
    def _model(self) -> Encode:
        if self._folder is not None:
            return load_folder(self._folder)
        return _load(self._known, self._cache)


def _load(known: dict[str, Any], cache: Path) -> Encode:
    """Load a model that fastembed knows from the cache, after a download if it is not there."""
    fastembed = _fastembed()
    name, arguments = known["model"], {"cache_dir": str(cache), "cuda": False}
    try:
        model = fastembed.TextEmbedding(name, local_files_only=True, **arguments)
    except ValueError:
        megabytes = f"{known['size_in_GB'] * _MEGABYTES:,.0f} MB"
        private_files.create_folder(cache)
        log.warning("downloading the embedding model `%s` (%s) to `%s`", name, megabytes, cache)
        try:
            _check_source(known["sources"])
            model = fastembed.TextEmbedding(name, **arguments)
        # Any exception of the network, of the disk, or about a damaged file.
        except Exception as error:
            raise ModelUnusable(
                f"the embedding model `{name}` cannot be downloaded: check the network, or set "
                "TURNETL_EMBEDDER__MODEL to a folder that holds a model"
            ) from error
    return lambda texts: np.stack(list(model.embed(list(texts), batch_size=len(texts))))


def _check_source(sources: dict[str, Any]) -> None:
    """Ask Hugging Face for the model once, if it is there only; raises any exception.

    Without a network, fastembed tries three times and sleeps 39 seconds in all.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415 - an extra

    if sources["hf"] and not sources["url"]:
        HfApi().model_info(sources["hf"], timeout=_TIMEOUT)


def _description(model: str) -> dict[str, Any]:
    supported = {
        known["model"]: known for known in _fastembed().TextEmbedding.list_supported_models()
    }
    by_lower = {name.lower(): name for name in supported}
    if name := by_lower.get(model.lower()):
        return dict(supported[name])
    close = get_close_matches(model.lower(), by_lower, n=3)
    hint = f"; similar are {', '.join(f'`{by_lower[name]}`' for name in close)}" if close else ""
    raise BadUsage(f"fastembed has no model `{model}`{hint}; a folder begins with `/`, `.` or `~`")


def _fastembed() -> Any:
    """Import the package: one second. It sends nothing but what a download needs."""
    # Read when huggingface_hub is imported; a value set by the user wins.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # noqa: TID251 - read there only
    import fastembed  # noqa: PLC0415 - an extra
    import onnxruntime  # noqa: PLC0415 - an extra
    from loguru import logger  # noqa: PLC0415 - an extra

    onnxruntime.disable_telemetry_events()
    # Its errors are those that `_load` raises; it logs to standard error by itself.
    logger.disable(PROVIDER)
    return fastembed
