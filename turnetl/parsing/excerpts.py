"""Excerpts of tool results: head, tail, and the lines between them that report a failure.

A long result is mostly the output of a command, and an error may be anywhere in it.
"""

from collections.abc import Iterator

from turnetl.formats.base import RawToolCall

HEAD, TAIL = 1200, 800
"""Characters kept at the start and at the end. An error is most often at the end."""

_BETWEEN = 1200
"""Maximum characters of the lines kept from between head and tail."""
_LINE = 240
"""Maximum characters of such a line."""
_FAILURE_MARKERS = ("FAIL", "rror:", "ERROR", "\nE   ", "panic", "xception")
_LINES_PER_MARKER = 4
"""Only the first lines with a marker are kept: they are the most informative."""
_READERS = ("read", "grep", "glob", "ls", "list_directory", "read_file", "read_many_files")
"""Tools that show files: a failure marker in their results is code."""


def result_excerpt(call: RawToolCall) -> str:
    """Return the excerpt of a result, with the number of omitted characters."""
    text = call.result
    between = len(text) - HEAD - TAIL
    if between <= 0:
        return text
    failures = "" if call.name.lower() in _READERS else _failure_lines(text[HEAD:-TAIL])
    omitted = f" [... {between - len(failures)} characters left out ...] "
    return f"{text[:HEAD]}{omitted}{failures}{text[-TAIL:]}"


def _failure_lines(text: str) -> str:
    """Return the lines that report a failure, in their order, each on a line of its own."""
    starts = sorted({start for marker in _FAILURE_MARKERS for start in _line_starts(text, marker)})
    lines = dict.fromkeys(line for start in starts for line in _lines(text, start))
    selected, remaining = [], _BETWEEN
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0:
            break
        selected.append(line)
    return "\n" + "\n".join(selected) + "\n" if selected else ""


def _line_starts(text: str, marker: str) -> Iterator[int]:
    """Yield the start of each of the first lines with a marker."""
    offset = text.find(marker)
    for _ in range(_LINES_PER_MARKER):
        if offset < 0:
            return
        yield text.rfind("\n", 0, offset + 1) + 1
        end = text.find("\n", offset + 1)
        offset = text.find(marker, end) if end >= 0 else -1


def _lines(text: str, start: int) -> Iterator[str]:
    """Yield a line, and the next one if it is indented and so continues the first."""
    end = text.find("\n", start)
    yield text[start:end][:_LINE] if end >= 0 else text[start : start + _LINE]
    if end >= 0 and text[end + 1 : end + 2] in {" ", "\t"}:
        next_end = text.find("\n", end + 1)
        yield text[end + 1 : next_end if next_end >= 0 else None][:_LINE]
