"""A search of all bytes of a folder."""

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq


def holding(folder: Path, texts: Sequence[str]) -> list[str]:
    """Return the files under a folder that hold one of the texts, also in compressed columns."""
    needles = [text.encode() for text in texts]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path) for path in files if any(needle in _content(path) for needle in needles)]


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if not data.startswith(b"PAR1"):
        return data
    rows = pq.read_table(io.BytesIO(data))
    return data + repr(rows.schema.metadata).encode() + repr(rows.to_pylist()).encode()
