"""Blocks of code between fences (``` or ~~~) in an episode text."""

import re
from dataclasses import dataclass

_SIGN = re.compile(
    r"(?P<message>\n\n(?=(?:user|assistant|tools): ))"
    r"|^[ \t]*(?P<speaker>(?:user|assistant|tools): )?[ \t]*"
    r"(?P<fence>`{3,}|~{3,})(?P<rest>[^\n]*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """From the first character of the line that opens it to behind the line that closes it."""

    start: int
    end: int
    fence: str
    """The signs that opened it."""
    closed: bool
    """Whether it ends here: by its fence, or with its message."""


def fenced_blocks(text: str, at: int, stop: int, open_fence: str = "") -> list[FencedBlock]:
    """Return the blocks between `at` and `stop`, in order.

    Args:
        text: of a whole episode.
        at: where to begin.
        stop: where to end; a block that goes on behind it is not `closed`.
        open_fence: of the block that `at` stands in; empty if in none. That block starts before.
    """
    found = []
    start, fence = at - 1, open_fence
    for sign in _SIGN.finditer(text, at, stop):
        if fence and _closes(sign, fence):
            found.append(
                FencedBlock(
                    start, sign.end("fence") if sign["fence"] else sign.start(), fence, True
                )
            )
            fence = ""
        elif not fence and _opens(sign):
            start, fence = sign.start(), sign["fence"]
    if fence:
        found.append(FencedBlock(start, stop, fence, closed=stop == len(text)))
    return found


def _opens(sign: re.Match[str]) -> bool:
    # Between ``` on one line stands no block.
    return bool(sign["fence"]) and not (sign["fence"][0] == "`" and "`" in sign["rest"])


def _closes(sign: re.Match[str], fence: str) -> bool:
    if sign["message"]:
        return True
    return sign["fence"].startswith(fence) and not sign["speaker"] and not sign["rest"].strip()
