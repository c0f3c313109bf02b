"""The seam of content types: what a kind of text is told by, and what of it is kept.

A kind is two expressions over the columns of `INPUT_COLUMNS`. The first kind that takes a text
shortens it; each kind reads only what the kinds before it left over, so those that cost little come
first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

INPUT_COLUMNS = pl.Schema(
    {
        "text": pl.String,
        "role": pl.String,
        "failed": pl.Boolean,
        "cwd": pl.String,
    }
)
"""What a kind may look at: the text; its role (of `turnetl.episodes.tool_roles`, or `code`);
whether the call failed; the folder that the turn stands in, with no slash at its end, or blank."""

LINE_CHARS = 240
"""Characters of a line that are kept."""

_BLANKS = r"[ \t\r\n]{2,}|[\t\r\n]"
"""What one blank stands for as well; a pattern that leaves single blanks alone copies nothing."""
_INSTANT = r"\x{feff}?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9:]{5})[ \t]"
"""A time that a program writes before each of its lines."""

TEXT, ROLE, FAILED, CWD = (pl.col(name) for name in INPUT_COLUMNS.names())


@dataclass(frozen=True, eq=False)
class ContentType:
    """One content type."""

    name: str
    matches: pl.Expr
    """True for the texts that are of this kind; never null."""
    condensed: pl.Expr
    """What of such a text is kept, on one line; never null."""


def condense(texts: pl.DataFrame, kinds: Sequence[ContentType]) -> pl.Series:
    """Return `text`, one a row: what the first kind that takes it keeps.

    Never longer than the lines of the text with `; ` between them. A text that no kind takes is
    left out.

    Args:
        texts: rows with the columns of `INPUT_COLUMNS`.
        kinds: in the order in which they are asked.
    """
    rest = texts.with_row_index("place")
    done = []
    for kind in kinds:
        asked = rest.with_columns(kind.matches.alias("mine"))
        if not asked["mine"].any():
            continue
        mine, rest = (asked.filter(own).drop("mine") for own in (pl.col("mine"), ~pl.col("mine")))
        short = kind.condensed.str.strip_chars().alias("short")
        done.append(_never_longer(mine.select("place", "text", short)))
        if rest.is_empty():
            break
    left_out = rest.select("place", pl.lit("").alias("text"))
    return pl.concat([*done, left_out]).sort("place")["text"]


def detect(texts: pl.DataFrame, kinds: Sequence[ContentType]) -> pl.Series:
    """Return `kind`, one a row: the name of the first kind that takes it, or null."""
    named = [pl.when(kind.matches).then(pl.lit(kind.name)) for kind in kinds]
    return texts.select(pl.coalesce(*named).alias("kind"))["kind"]


def matching_lines(text: pl.Expr, pattern: str) -> pl.Expr:
    """Return the lines that a pattern matches, each once."""
    return text.str.extract_all(pattern).list.unique(maintain_order=True)


def tidy_line(line: pl.Expr, room: int = LINE_CHARS) -> pl.Expr:
    """Return a line that is not too long, with single blanks."""
    plain = line.str.replace_all(_INSTANT, "").str.strip_chars()
    return truncate(plain.str.replace_all(_BLANKS, " "), room)


def join_lines(found: pl.Expr, room: int = LINE_CHARS) -> pl.Expr:
    """Return lines as one, tidy, each once; blank ones fall away."""
    told = tidy_line(pl.element(), room).replace("", None).drop_nulls()
    return found.list.eval(told.unique(maintain_order=True)).list.join("; ")


def flatten(text: pl.Expr) -> pl.Expr:
    """Return a short text whole, its lines behind one another, each once."""
    return join_lines(text.str.split("\n"))


def truncate(text: pl.Expr, room: int) -> pl.Expr:
    """Return the head of a text, with `...` where something is left out."""
    return pl.when(text.str.len_chars() > room).then(text.str.head(room) + "...").otherwise(text)


def _never_longer(texts: pl.DataFrame) -> pl.DataFrame:
    """Return `place` and `text`: what is kept, or all there is if that is shorter."""
    short, flat = pl.col("short"), TEXT.str.strip_chars().str.replace_all(r"\s*\n\s*", "; ")
    # Bytes are counted already; characters only where there may be too many.
    fits = short.str.len_bytes() <= TEXT.str.len_bytes()
    if texts.select(fits.all()).item():
        return texts.select("place", text="short")
    kept = texts.filter(fits).select("place", text="short")
    room = TEXT.str.len_chars() + TEXT.str.count_matches("\n", literal=True)
    shorter = pl.when(short.str.len_chars() <= room).then(short).otherwise(flat)
    return pl.concat([kept, texts.filter(~fits).select("place", text=shorter)])
