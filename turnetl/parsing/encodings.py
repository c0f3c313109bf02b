"""Text in another encoding than UTF-8, as shells and editors of Windows write it, as UTF-8.

Lines stay the same, so that a turn leads back to them. Offsets in bytes are those of the text in
UTF-8, as those of a compressed archive are of the decompressed one.
"""

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD = 16
"""Bytes in which every second one of UTF-16 without a mark is zero: JSON starts with ASCII."""
_END_OF_FILE = b"\x1a"
"""Ctrl-Z, which some programs of Windows write at the end."""
_find_foreign = re.compile(rb"[\x80-\xff]+").finditer
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes of a character in UTF-8 after its first one."""
_ENOUGH = 2
"""Runs of bytes that are not UTF-8 which show that a text without any valid run is not UTF-8."""
_PIECE = 1 << 10
"""Bytes that are checked at once for ASCII, many times faster than a pattern searches them."""


def to_utf8(data: bytes) -> bytes:
    """Return text as UTF-8: of UTF-16 and UTF-32, and of Windows-1252 if nothing in it is UTF-8.

    Damaged UTF-8 is returned unchanged. Bytes that are no text become replacement characters.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace").encode()
    unmarked = _utf16_without_mark(data[:_HEAD])
    if unmarked is not None:
        return data.decode(unmarked, "replace").encode()
    if data.endswith(_END_OF_FILE):
        data = data[:-1] + b" "
    return _from_windows(data) if _is_windows_text(data) else data


def _utf16_without_mark(head: bytes) -> str | None:
    pairs = len(head) // 2
    if pairs < 2:  # noqa: PLR2004 - one pair may be anything
        return None
    even, odd = head[: 2 * pairs : 2], head[1 : 2 * pairs : 2]
    if not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if not any(even) and all(odd) else None


def _is_windows_text(data: bytes) -> bool:
    """Return whether no byte beyond ASCII belongs to valid UTF-8, and some cannot be cut UTF-8."""
    single = 0
    for run in _find_foreign(data, _ascii_bytes(data)):
        if _is_valid(run[0]):
            return False
        single += len(run[0]) == 1 or not _is_cut(run[0])
    return single >= _ENOUGH


def _ascii_bytes(data: bytes) -> int:
    """Return a number of bytes at the start that are ASCII; all of them if the whole text is."""
    pieces = range(0, len(data), _PIECE)
    return next((at for at in pieces if not data[at : at + _PIECE].isascii()), len(data))


def _is_valid(run: bytes) -> bool:
    """Return whether any part of a run is a character in UTF-8."""
    return bool(run.decode("utf-8", "ignore"))


def _is_cut(run: bytes) -> bool:
    """Return whether a run is the start of a character in UTF-8, or the rest of one."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(run)
    except UnicodeDecodeError:
        return not run.strip(_CONTINUATIONS)
    return True


def _from_windows(data: bytes) -> bytes:
    try:
        return data.decode("cp1252").encode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
