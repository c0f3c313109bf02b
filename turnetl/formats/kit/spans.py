"""The lines and bytes of an archive that a row or an element occupies."""

import msgspec


class SourceSpan(msgspec.Struct, gc=False):
    """The position of a row or an element of a document. Cheap, because every line has one."""

    line: int
    """First line, counted from 1."""
    last_line: int
    start: int
    """Offset of the first byte."""
    end: int
    """Offset just after the last byte."""
    lines: int = 1
    """Lines that are counted with this span. A line with several elements is counted once, with the
    first of them."""
