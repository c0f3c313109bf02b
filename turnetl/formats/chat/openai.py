"""The format of conversations in the messages of OpenAI's chat API.

An archive has `{"messages": [{"role", "content"}]}` once per line, once per array element or as one
document; or rows `{"role", "content"}`, which form one conversation; or pairs of responses of which
one is preferred.
"""

from turnetl.formats.chat.detect import ChatShape
from turnetl.formats.chat.reader import read
from turnetl.formats.chat.rows import OPENAI
from turnetl.formats.port import ParsedArchive, Probe

_SHAPE = ChatShape("role", frozenset(OPENAI), ("content", "tool_calls", "function_call"), rows=True)


class OpenAIConversations:
    def sniff(self, probe: Probe) -> bool:
        return _SHAPE.matches(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read(data)
