"""Archives that are not where they were: what was read of them in time outlives them."""

import os
import re
from collections.abc import Iterable

from turnetl.lake import ArchiveMetadata

_STRAY_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
"""How `lake.shown` writes a byte of a file's name that is no UTF-8."""


def gone(origins: Iterable[ArchiveMetadata]) -> tuple[str, ...]:
    """Return the archives that are not there any more, sorted. Asks for each once, opens none."""
    return tuple(sorted(origin.archive for origin in origins if not _is_there(origin.archive)))


def _is_there(archive: str) -> bool:
    return _exists(archive) or _exists(_STRAY_BYTE.sub(_byte, archive))


def _byte(found: re.Match[str]) -> str:
    return chr(0xDC00 + int(found[1], 16))


def _exists(path: str) -> bool:
    """Whether there is such a file; one that we may not look at counts as there."""
    try:
        os.stat(path)  # noqa: PTH116 - thousands, and no Path is needed
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
