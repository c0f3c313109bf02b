"""Diffs: which files, how many lines came and went, and in which functions."""

import polars as pl

from turnetl.episodes.content.base import TEXT, ContentType, join_lines, truncate
from turnetl.episodes.content.base import matching_lines as lines_of

_SIGN = r"(?m)^(?:diff --git |@@ -[0-9]+(?:,[0-9]+)? \+[0-9])"
_FILE = "diff --git "
_TO, _FROM = r"(?m)^\+\+\+ (?:b/)?([^\n\t]+)", r"\A(?:--- )?a/([^\n\t ]+)"
_CAME, _WENT = (rf"(?m)^{sign}(?:[^{sign}\n]|$)" for sign in (r"\+", "-"))
_FUNCTION = r"(?m)^@@ [^\n]*?@@ [^\n]+"
_TOTAL = r"(?m)^ [0-9]+ files? changed[^\n]*"
_FUNCTIONS = 5
_ROOM = 1000
_NAME = 80


def _shortened() -> pl.Expr:
    """Return the files in order; a diff without headers of git's is one file after another."""
    plain = TEXT.str.replace_all(r"(?m)^--- ([^\n]+)\n\+\+\+ ", f"{_FILE}$1\n+++ ")
    parts = pl.when(TEXT.str.contains(_FILE, literal=True)).then(TEXT).otherwise(plain)
    files = parts.str.split(_FILE).list.eval(_file(pl.element()))
    totals = lines_of(TEXT, _TOTAL)
    return truncate(join_lines(totals.list.concat(files)), _ROOM)


def _file(part: pl.Expr) -> pl.Expr:
    name = pl.coalesce(part.str.extract(_TO).replace("/dev/null", None), part.str.extract(_FROM))
    counts = pl.format(
        "{} +{} -{}", name, part.str.count_matches(_CAME), part.str.count_matches(_WENT)
    )
    return (counts + _functions(part)).fill_null("")


def _functions(part: pl.Expr) -> pl.Expr:
    name = pl.element().str.replace(r"^@@ .*?@@ ", "").str.head(_NAME).str.strip_chars_end(" {(:")
    found = part.str.extract_all(_FUNCTION).list.eval(name).list.unique(maintain_order=True)
    said = found.list.head(_FUNCTIONS).list.join(", ")
    return pl.when(said == "").then(pl.lit("")).otherwise(" (" + said + ")")


DIFFS = ContentType("diffs", TEXT.str.contains(_SIGN), _shortened())
