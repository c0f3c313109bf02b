"""Archives that no longer exist at their path; the turns read from them stay."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from turnetl.base.object_url import url_text
from turnetl.lake import ArchiveMetadata
from turnetl.lake.paths import file_holding
from turnetl.redact.port import MARK

_ESCAPED_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
"""How `lake.path_text` writes a byte of a file name that is not UTF-8."""


def missing_archives(
    archives: Iterable[ArchiveMetadata], is_present: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the archives of this machine that do not exist, sorted. Opens none.

    Args:
        is_present: whether an archive exists that is in an object store, or of whose path parts are
            redacted.
    """
    paths = (archive.archive for archive in archives if not archive.machine)
    return tuple(sorted(path for path in paths if not _is_present(path, is_present)))


def _is_present(archive: str, is_present: Callable[[str], bool]) -> bool:
    if MARK in archive or url_text(archive) is not None:
        return is_present(archive)
    return _exists(archive) or _exists(_ESCAPED_BYTE.sub(_byte, archive))


def _byte(match: re.Match[str]) -> str:
    return chr(0xDC00 + int(match[1], 16))


def _exists(path: str) -> bool:
    """Return whether the file exists; one that may not be examined counts as existing."""
    try:
        os.stat(file_holding(Path(path)))  # noqa: PTH116 - thousands
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
