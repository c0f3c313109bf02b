"""Conversations in the form of ShareGPT: `{"conversations": [{"from", "value"}]}`.

One a line, one an element of an array, or a document of one.
"""

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.chat.detect import Look
from turnetl.formats.chat.reader import read
from turnetl.formats.chat.roles import SHAREGPT

_LOOK = Look("from", frozenset(SHAREGPT), ("value", "content", "text", "arguments"))


class ShareGPT:
    name = "sharegpt"
    title = "chats as ShareGPT's conversations (JSON, JSONL)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        return _LOOK.is_seen_in(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read(data)
