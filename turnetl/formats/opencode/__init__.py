"""OpenCode: exported sessions, and the files of its store."""

from turnetl.formats.opencode.archive import OpenCode

__all__ = ["OpenCode"]
