"""Long texts in parts that fit one prompt each, cut where a reader would pause."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import polars as pl

from turnetl.episodes import fences
from turnetl.episodes.fences import FencedBlock
from turnetl.episodes.tokens import TOKEN_WEIGHT, estimate, estimate_expr, weights

__all__ = ["LIMIT", "VERSION", "chunk_texts", "chunks", "estimate_expr", "split_in_half"]

LIMIT = 6000
"""Tokens of a part, at most, by the estimate."""
VERSION = 2
"""Of where texts are cut; higher with every change of it, of `fences` or of `estimate_expr`."""

_CHARS = 8
"""Characters that are looked at for each token of a part, to see where a block of code ends."""
_BORDERS = tuple(
    re.compile(border)
    for border in (
        r"\n\n(?=(?:user|assistant|tools): )",  # between messages
        r"\n(?=tools: )",
        r"\n[ \t\r]*\n",
        r"\n",
        r"[.!?…]['\")\]]*\s|[\u3002\uff01\uff1f\uff61]",
        r"\s",
    )
)
_LINE = 3
"""The place of the line among the borders: a block of code begins and ends as well as any."""
_MESSAGE = re.compile(r"(?:\n\n|\n(?=tools))(user|assistant|tools): ")
_SPEAKER = re.compile(r"(?:user|assistant|tools): ")
_BLANKS = re.compile(r"\s*")
_TOGETHER = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\u20d0-\u20ff\U0001f3fb-\U0001f3ff]")
"""What belongs to the character before: accents, variants, joiners, shades of skin."""
_LONGEST_CHARACTER = 32


def chunk_texts(texts: pl.Series, limit: int = LIMIT) -> pl.Series:
    """Return `parts`: one list a text, of one part for all but the longest, which is as it was."""
    rows = texts.to_frame("text").with_row_index()
    # No byte is more than a token.
    long = rows.filter(pl.col("text").str.len_bytes() > limit)
    longer = long.filter(estimate(long["text"]) > limit)
    pieces = [list(chunks(text, limit)) or [""] for text in longer["text"]]
    cut = longer.select("index", pl.Series("parts", pieces, dtype=pl.List(pl.String)))
    joined = rows.join(cut, on="index", how="left", maintain_order="left")
    return joined.select(pl.coalesce("parts", pl.concat_list("text")).alias("parts"))["parts"]


def chunks(text: str, limit: int = LIMIT) -> Iterator[str]:
    """Yield the text in parts of at most `limit` tokens; blanks at the cuts fall away.

    What goes on in the next part is given to its speaker again. Takes time and memory in proportion
    to the text.
    """
    at, speaker, open_fence = _after_blanks(text, 0), "", ""
    while at < len(text):
        begun = _SPEAKER.match(text, at) if _begins_message(text, at) else None
        again = "" if begun else speaker
        cut = _cut(text, at, limit * TOKEN_WEIGHT - _weight(again), open_fence)
        yield f"{again}{text[at : cut.at].rstrip()}"
        said = [found[1] for found in _MESSAGE.finditer(text, at, cut.at)]
        speaker = f"{said[-1]}: " if said else (begun[0] if begun else speaker)
        at, open_fence = _after_blanks(text, cut.at), cut.open_fence


def split_in_half(text: str) -> tuple[str, ...]:
    """Return the text in two pieces, seldom three, cut where a reader would pause.

    What goes on in the next one is given to its speaker again.
    """
    # The cut stands in the second half of what fits: what is left then fits too, but for a speaker.
    room = -(-_weight(text) * 7 // (10 * TOKEN_WEIGHT))
    return tuple(chunks(text, max(room, 1)))


@dataclass(frozen=True, slots=True)
class _Cut:
    at: int
    open_fence: str
    """The fence of the block of code that goes on behind the cut."""


def _cut(text: str, at: int, room: int, open_fence: str) -> _Cut:
    """Return where the part that begins at `at` ends: at the best pause in its second half."""
    stop = min(len(text), at + _CHARS * max(room // TOKEN_WEIGHT, 1))
    end = _reach(text, at, stop, room)
    if end == len(text):
        return _Cut(end, "")
    blocks = fences.fenced_blocks(text, at, stop, open_fence)
    whole = [block for block in blocks if block.start >= at and _fits(text, block, end, room)]
    end = next((block.start for block in whole if block.start < end < block.end), end)
    best = _pause(text, at + (end - at) // 2, end, whole) or _between_characters(text, at, end)
    return _Cut(best, next((b.fence for b in blocks if b.start < best < b.end), ""))


def _reach(text: str, at: int, stop: int, room: int) -> int:
    """Return where what fits into the room ends, at least a character further."""
    data = text[at:stop].encode("utf-8", "surrogatepass")
    over = int(np.searchsorted(np.cumsum(weights(data), dtype=np.int64), room, side="right"))
    if over == len(data):
        return stop
    begun = (np.frombuffer(data, dtype=np.uint8, count=over + 1) & 0xC0) != 0x80  # noqa: PLR2004 - UTF-8
    return at + max(int(np.count_nonzero(begun)) - 1, 1)


def _fits(text: str, block: FencedBlock, end: int, room: int) -> bool:
    """Whether the block fits into a part of its own."""
    if block.end <= end:
        return True
    return block.closed and _weight(text[block.start : block.end]) <= room


def _pause(text: str, low: int, end: int, whole: list[FencedBlock]) -> int | None:
    """Return the last pause up to `end` of the best kind there is, but none within a block."""
    edges = [edge for block in whole for edge in (block.start, block.end) if low <= edge <= end]
    for place, border in enumerate(_BORDERS):
        found = [match.end() for match in border.finditer(text, low, end)]
        if place == _LINE:
            found = sorted(found + edges)
        for at in reversed(found):
            if at > low and not any(block.start < at < block.end for block in whole):
                return at
    return None


def _between_characters(text: str, at: int, end: int) -> int:
    """Return a place to cut at `end` or just before it, where no character is torn apart."""
    for place in range(end, max(at, end - _LONGEST_CHARACTER), -1):
        if not _is_torn(text, at, place):
            return place
    return end


def _is_torn(text: str, at: int, place: int) -> bool:
    before, behind = text[place - 1], text[place]
    return (
        before == "\u200d"
        or f"{before}{behind}" == "\r\n"
        or _TOGETHER.match(behind) is not None
        or "\udc00" <= behind <= "\udfff"
        or (_is_of_flag(behind) and _flags_before(text, at, place) % 2 == 1)
    )


def _flags_before(text: str, at: int, place: int) -> int:
    """Return how many halves of flags stand before `place` in a row."""
    return sum(1 for _ in takewhile(_is_of_flag, (text[k] for k in range(place - 1, at - 1, -1))))


def _is_of_flag(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _after_blanks(text: str, at: int) -> int:
    """Return where the next part begins: behind the blanks, but with its own indentation."""
    blanks = _BLANKS.match(text, at)
    end = blanks.end() if blanks else at
    line = text.rfind("\n", max(at - 1, 0), end) + 1
    return line if line and end < len(text) else end


def _begins_message(text: str, at: int) -> bool:
    """Whether a speaker that stands here is one, and not a word of what somebody says."""
    before = text[max(at - 2, 0) : at]
    return before in {"", "\n\n"} or (before.endswith("\n") and text.startswith("tools: ", at))


def _weight(text: str) -> int:
    return int(weights(text.encode("utf-8", "surrogatepass")).sum(dtype=np.int64))
