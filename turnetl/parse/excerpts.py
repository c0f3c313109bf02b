"""What is kept of a tool's outcome: head, tail, and from between them what tells of a failure.

Long outcomes are mostly what commands wrote, and what went wrong may stand anywhere in it.
"""

from collections.abc import Iterator

from turnetl.formats.base import RawToolCall

HEAD, TAIL = 1200, 800
"""Characters of an outcome that are kept: errors stand at the end more often than not."""

_BETWEEN = 1200
"""Characters of lines that are kept from between, at most."""
_LINE = 240
"""Characters of such a line."""
_SIGNS = ("FAIL", "rror:", "ERROR", "\nE   ", "panic", "xception")
_OFTEN = 4
"""Lines with the same sign that are looked at: the first tell most."""
_READS = ("read", "grep", "glob", "ls", "list_directory", "read_file", "read_many_files")
"""Tools that show files: what fails there is code."""


def result(tool: RawToolCall) -> str:
    """Return what is kept, and how many characters were left out."""
    text = tool.result
    between = len(text) - HEAD - TAIL
    if between <= 0:
        return text
    kept = "" if tool.name.lower() in _READS else _failures(text[HEAD:-TAIL])
    told = f" [... {between - len(kept)} characters left out ...] "
    return f"{text[:HEAD]}{told}{kept}{text[-TAIL:]}"


def _failures(text: str) -> str:
    """Return the lines that tell of failures, in their order, each on a line of its own."""
    starts = sorted({at for sign in _SIGNS for at in _starts(text, sign)})
    lines = dict.fromkeys(line for at in starts for line in _lines(text, at))
    kept, room = [], _BETWEEN
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n" + "\n".join(kept) + "\n" if kept else ""


def _starts(text: str, sign: str) -> Iterator[int]:
    """Yield where the first lines with a sign begin."""
    at = text.find(sign)
    for _ in range(_OFTEN):
        if at < 0:
            return
        yield text.rfind("\n", 0, at + 1) + 1
        end = text.find("\n", at + 1)
        at = text.find(sign, end) if end >= 0 else -1


def _lines(text: str, at: int) -> Iterator[str]:
    """Yield a line, and the next one if it is indented: then it goes on about the same."""
    end = text.find("\n", at)
    yield text[at:end][:_LINE] if end >= 0 else text[at : at + _LINE]
    if end >= 0 and text[end + 1 : end + 2] in {" ", "\t"}:
        after = text.find("\n", end + 1)
        yield text[end + 1 : after if after >= 0 else None][:_LINE]
