"""Disks: free space, asked before a write that must not fail halfway, and writes that last."""

import math
import os
import shutil
from contextlib import suppress
from pathlib import Path


def free_bytes(folder: Path) -> float:
    """Return the free bytes on the disk of a folder; infinity if they are unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable; where no folder can be synchronised, they are."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
