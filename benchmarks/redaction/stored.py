"""Canaries in archives of all formats, parsed into a lake."""

import random
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.redaction.canaries import Canary
from tests.redact.secret_archives import ARCHIVES, SecretSource
from tests.redact.test_no_leaks_in_lake import written
from turnetl import parsing
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

_CANARIES = 1500
"""Canaries of each format."""
_MIN_CHARS = 16
"""Characters of a secret: a shorter one may be an ordinary word of the lake."""


def leaks_in_lake(canaries: Iterable[Canary]) -> dict[str, tuple[int, int]]:
    """Return the canaries that a lake holds and the number of all canaries, by archive."""
    long = [canary for canary in canaries if len(canary.secret) >= _MIN_CHARS]
    return {name: _leaks(name, random.sample(long, _CANARIES)) for name in ARCHIVES}


def _leaks(name: str, canaries: list[Canary]) -> tuple[int, int]:
    source = SecretSource([partial(_entry, canary) for canary in canaries])
    leaked = set[str]()
    while len(source.secrets) < _CANARIES:
        with tempfile.TemporaryDirectory() as folder:
            path, lake = Path(folder, name), Path(folder, "lake")
            path.write_text(ARCHIVES[name](source), encoding="utf-8")
            parsing.parse_archives([path], Lake(lake), redactor=SecretRedactor())
            texts = pl.Series([written(lake)])
        leaked |= {*texts.str.extract_many(source.secrets).explode().drop_nulls()}
    return len(leaked), len(source.secrets)


def _entry(canary: Canary) -> tuple[str, str]:
    return canary.secret, canary.text
