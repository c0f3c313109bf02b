"""Conversations in the form of OpenAI's chat API.

`{"messages": [{"role", "content"}]}`, one a line, one an element of an array, or a document of one;
rows `{"role", "content"}`, which are one conversation together; pairs of answers of which one is
preferred.
"""

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.chat.detect import Look
from turnetl.formats.chat.reader import read
from turnetl.formats.chat.roles import OPENAI

_LOOK = Look("role", frozenset(OPENAI), ("content", "tool_calls", "function_call"), rows=True)


class OpenAIConversations:
    name = "openai_conv"
    title = "chats as OpenAI's messages (JSON, JSONL)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        return _LOOK.is_seen_in(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read(data)
