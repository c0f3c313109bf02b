"""OpenCode: its sessions exported, and those in its store."""

from turnetl.formats.opencode.archive import OpenCode

__all__ = ["OpenCode"]
