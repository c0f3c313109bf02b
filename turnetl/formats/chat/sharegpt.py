"""The format of ShareGPT conversations: `{"conversations": [{"from", "value"}]}`.

An archive has one conversation per line or per array element, or is a document of one.
"""

from turnetl.formats.chat.detect import ChatShape
from turnetl.formats.chat.reader import read
from turnetl.formats.chat.rows import SHAREGPT
from turnetl.formats.port import ParsedArchive, Probe

_SHAPE = ChatShape("from", frozenset(SHAREGPT), ("value", "content", "text", "arguments"))


class ShareGPT:
    def sniff(self, probe: Probe) -> bool:
        return _SHAPE.matches(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read(data)
