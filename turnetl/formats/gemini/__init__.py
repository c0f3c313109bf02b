"""Gemini CLI: its sessions on disk, old and new, and what it prints with `stream-json`."""

from turnetl.formats.gemini.chats import GeminiJson, GeminiJsonl
from turnetl.formats.gemini.stream import GeminiStream

__all__ = ["GeminiJson", "GeminiJsonl", "GeminiStream"]
