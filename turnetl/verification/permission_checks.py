"""The permissions of lake, graph, trust store and configuration."""

from collections.abc import Sequence

from turnetl.base.loose_files import LooseFile
from turnetl.verification.check import Check
from turnetl.verification.report import Finding


def permission_finding(loose: Sequence[LooseFile], *, examples: int) -> Finding | None:
    """Return the finding about files with too many rights; None without such files.

    Args:
        loose: the files.
        examples: at most.
    """
    if not loose:
        return None
    lines = sorted(f"{file.path}: {file.mode:04o} instead of {file.allowed:04o}" for file in loose)
    return Finding(Check.LOOSE_PERMISSIONS, len(loose), tuple(lines[:examples]))
