"""Conversations in the form of ShareGPT: `{"conversations": [{"from", "value"}]}`.

One a line, one an element of an array, or a document of one.
"""

from turnetl.formats.base import Opening, Reading
from turnetl.formats.chat.reader import read
from turnetl.formats.chat.sight import Look
from turnetl.formats.chat.speakers import SHAREGPT

_LOOK = Look("from", frozenset(SHAREGPT), ("value", "content", "text", "arguments"))


class ShareGPT:
    name = "sharegpt"
    title = "chats as ShareGPT's conversations (JSON, JSONL)"
    version = 2

    def sniff(self, opening: Opening) -> bool:
        return _LOOK.is_seen_in(opening)

    def read(self, data: bytes) -> Reading:
        return read(data)
