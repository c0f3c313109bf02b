"""Claude Code: session files on disk, and sessions exported from claude.ai/code."""

from turnetl.formats.claude.code import ClaudeCode
from turnetl.formats.claude.web import ClaudeWeb

__all__ = ["ClaudeCode", "ClaudeWeb"]
