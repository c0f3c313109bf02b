"""The formats that turnetl reads, and the lookup of a format by content or by name."""

from turnetl.formats.base import Format
from turnetl.formats.chat import OpenAIConversations, ShareGPT
from turnetl.formats.claude import ClaudeCode, ClaudeWeb
from turnetl.formats.codex import Codex, CodexDocument
from turnetl.formats.gemini import GeminiJson, GeminiJsonl, GeminiStream
from turnetl.formats.kit.probe import Probe
from turnetl.formats.opencode import OpenCode

FORMATS: tuple[Format, ...] = (
    ClaudeCode(),
    ClaudeWeb(),
    Codex(),
    CodexDocument(),
    GeminiJson(),
    GeminiJsonl(),
    GeminiStream(),
    OpenAIConversations(),
    ShareGPT(),
    OpenCode(),
)
"""Every format, in the order in which they are tried: the first that recognises an archive reads
it."""


def sniff(data: bytes) -> Format | None:
    """Return the format that recognises an archive, or None if none does."""
    probe = Probe(data)
    return next((candidate for candidate in FORMATS if candidate.sniff(probe)), None)


def by_name(name: str) -> Format | None:
    """Return the format with this name, or None if there is none."""
    return next((candidate for candidate in FORMATS if candidate.name == name), None)
