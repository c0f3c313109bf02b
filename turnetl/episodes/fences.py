"""Find fenced blocks of code (``` or ~~~) in an episode text."""

import re
from dataclasses import dataclass

_MARKER = re.compile(
    r"(?P<message>\n\n(?=(?:user|assistant|tools): ))"
    r"|^[ \t]*(?P<speaker>(?:user|assistant|tools): )?[ \t]*"
    r"(?P<fence>`{3,}|~{3,})(?P<rest>[^\n]*)",
    re.MULTILINE,
)
"""The start of a message, or a fence."""


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """From the first character of the opening line to the end of the closing fence."""

    start: int
    end: int
    fence: str
    """The opening fence, such as three backticks."""
    closed: bool
    """Whether the block ends here: by its fence, or with its message."""


def fenced_blocks(text: str, start: int, stop: int, open_fence: str = "") -> list[FencedBlock]:
    """Return the blocks between `start` and `stop`, in order.

    Args:
        text: the text of an episode.
        start: where the search begins.
        stop: where the search ends; a block that continues after it is not `closed`.
        open_fence: the fence of the block that contains `start`; empty if there is none. That
            block starts before `start`.
    """
    blocks = []
    opening, fence = start - 1, open_fence
    for marker in _MARKER.finditer(text, start, stop):
        if fence and _closes(marker, fence):
            end = marker.end("fence") if marker["fence"] else marker.start()
            blocks.append(FencedBlock(opening, end, fence, closed=True))
            fence = ""
        elif not fence and _opens(marker):
            opening, fence = marker.start(), marker["fence"]
    if fence:
        blocks.append(FencedBlock(opening, stop, fence, closed=stop == len(text)))
    return blocks


def _opens(marker: re.Match[str]) -> bool:
    # Two backtick fences on one line are inline code, not a block.
    return bool(marker["fence"]) and not (marker["fence"][0] == "`" and "`" in marker["rest"])


def _closes(marker: re.Match[str], fence: str) -> bool:
    if marker["message"]:
        return True
    return (
        marker["fence"].startswith(fence) and not marker["speaker"] and not marker["rest"].strip()
    )
