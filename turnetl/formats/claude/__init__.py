"""Claude Code: session files on disk, exports from claude.ai/code, and the history of prompts."""

from turnetl.formats.claude.history import ClaudeHistory
from turnetl.formats.claude.reader import ClaudeCode, ClaudeWeb
