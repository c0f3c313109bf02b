"""Zeroed memory for Ladybug while it writes, so that its file holds nothing else of the process.

Ladybug writes whole pages of which it filled a part. The rest is what the process had freed:
perhaps a secret before redaction, or a turn that is forgotten. Only glibc can zero what it hands
out; elsewhere the rest stays as it is (docs/security.md). It does while a log is merged that a kill
left, too: a damaged length in it asks for more memory than there is, which zeroing would take.
"""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import ladybug

from turnetl.base.glibc import M_PERTURB, find_mallopt
from turnetl.graph.ladybug.log import log_files

_ZEROED = 0xFF
"""glibc fills what it hands out with the complement of this byte."""


_mallopt = find_mallopt()
IS_SUPPORTED = _mallopt is not None


@contextmanager
def zeroed_memory() -> Generator[None]:
    """Hand out zeroed memory in the block, to all threads; not what is smaller than a page."""
    if _mallopt is None:
        yield
        return
    _mallopt(M_PERTURB, _ZEROED)
    try:
        yield
    finally:
        _mallopt(M_PERTURB, 0)


class WritableDatabase(ladybug.Database):
    """A database whose connections, and whose end, write pages of zeroed memory."""

    def __init__(self, path: str, **kwargs: Any) -> None:
        """Open it; arguments as of `ladybug.Database`. What is left of its log is merged."""
        with nullcontext() if log_files(Path(path)) else zeroed_memory():
            super().__init__(path, **kwargs)

    def close(self) -> None:
        with zeroed_memory():
            super().close()


class WritableConnection(ladybug.Connection):
    def execute(self, *args: Any, **kwargs: Any) -> Any:
        with zeroed_memory():
            return super().execute(*args, **kwargs)
