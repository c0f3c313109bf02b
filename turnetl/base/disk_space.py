"""Free space on a disk, asked before a write that must not fail halfway."""

import math
import shutil
from pathlib import Path


def free_bytes(folder: Path) -> float:
    """Return the free bytes on the disk of a folder; infinity if they are unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf
