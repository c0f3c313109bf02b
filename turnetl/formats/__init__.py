"""The formats that turnetl reads. One line each; the first that knows the opening takes it."""

from turnetl.formats.base import Format
from turnetl.formats.chat import OpenAIConversations, ShareGPT
from turnetl.formats.claude import ClaudeCode, ClaudeWeb
from turnetl.formats.codex import Codex, CodexDocument
from turnetl.formats.gemini import GeminiJson, GeminiJsonl, GeminiStream
from turnetl.formats.kit.probe import Probe
from turnetl.formats.opencode import OpenCode

KNOWN: tuple[Format, ...] = (
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


def sniff(data: bytes) -> Format | None:
    """Return the format of an archive, or None if none knows it."""
    opening = Probe(data)
    return next((known for known in KNOWN if known.sniff(opening)), None)


def named(name: str) -> Format | None:
    """Return the format of that name."""
    return next((known for known in KNOWN if known.name == name), None)
