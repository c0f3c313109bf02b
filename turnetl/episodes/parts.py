"""Long texts in pieces that fit one prompt each, cut where a reader would pause."""

from collections.abc import Iterator

import polars as pl

LIMIT = 6000
"""Tokens of a part, at most."""
_CHARS = 4
"""Characters of a token, on the average of code and prose."""
_BORDERS = ("\n\n", "\n", ". ", " ")
_SPEAKERS = ("user: ", "assistant: ", "tools: ")


def tokens(chars: pl.Expr) -> pl.Expr:
    """Estimate the tokens of that many characters."""
    return (chars + _CHARS - 1) // _CHARS


def split(texts: pl.Series, limit: int = LIMIT) -> pl.Series:
    """Return `parts`: one list a text, of one piece for all but the longest."""
    room = limit * _CHARS
    rows = texts.to_frame("text").with_row_index()
    long = rows.filter(pl.col("text").str.len_chars() > room)
    pieces = [list(pieces_of(text, room)) for text in long["text"]]
    cut = long.select("index", pl.Series("parts", pieces, dtype=pl.List(pl.String)))
    joined = rows.join(cut, on="index", how="left", maintain_order="left")
    return joined.select(pl.coalesce("parts", pl.concat_list("text")).alias("parts"))["parts"]


def pieces_of(text: str, room: int) -> Iterator[str]:
    """Yield the text in pieces of at most `room` characters; blanks at the cuts fall away.

    What goes on in the next piece is given to its speaker again.
    """
    speaker = ""
    while len(text) > room:
        end = _border(text, room)
        piece, rest = text[:end].rstrip(), text[end:].lstrip()
        yield piece
        speaker = _last_speaker(piece) or speaker
        text = rest if rest.startswith(_SPEAKERS) else f"{speaker}{rest}"
    if text.strip():
        yield text


def _border(text: str, room: int) -> int:
    """Return where to cut: at the last pause in the second half, of the best kind there is."""
    for border in _BORDERS:
        at = text.rfind(border, room // 2, room)
        if at >= 0:
            return at + len(border)
    return room


def _last_speaker(piece: str) -> str:
    found = [(piece.rfind(f"\n\n{speaker}"), speaker) for speaker in _SPEAKERS]
    at, speaker = max(found)
    if at >= 0:
        return speaker
    return next((speaker for speaker in _SPEAKERS if piece.startswith(speaker)), "")
