"""Embedding models that run on this machine, by fastembed or from a local folder."""

import asyncio
import logging
import os
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.base.errors import BadUsage, ModelUnusable
from turnetl.base.model import Vector
from turnetl.llm.embedders.onnx_folder import Encode, folder_name, is_folder, load_folder
from turnetl.llm.vectors import pack

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
        """Check the model's name or folder; opens no connection yet.

        Args:
            model: a name that fastembed knows, or a folder with ONNX model and tokenizer.
            cache: folder of downloaded models.

        Raises:
            BadUsage: the package is missing, the name is unknown, or the folder lacks a file.
        """
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
        """Return one vector per text, in order; other work goes on meanwhile.

        Raises:
            BadUsage: the model in the folder cannot be loaded.
            ModelUnusable: the model cannot be downloaded, or returns no vectors.
        """
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
        for start in range(0, len(order), _BATCH_SIZE):
            positions = order[start : start + _BATCH_SIZE]
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
    """Load a model that fastembed knows from the cache, after a download if it is not there.

    Raises:
        ModelUnusable: it cannot be downloaded or loaded.
    """
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
    """Return what fastembed knows of a model."""
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
