"""Diffs: the changed files, the numbers of added and removed lines, and the changed functions."""

import polars as pl

from turnetl.episodes.content.base import TEXT, ContentType, join_lines, matching_lines, truncate

_DIFF = r"(?m)^(?:diff --git |@@ -[0-9]+(?:,[0-9]+)? \+[0-9])"
_FILE = "diff --git "
_NEW_PATH, _OLD_PATH = r"(?m)^\+\+\+ (?:b/)?([^\n\t]+)", r"\A(?:--- )?a/([^\n\t ]+)"
_ADDED, _REMOVED = (rf"(?m)^{sign}(?:[^{sign}\n]|$)" for sign in (r"\+", "-"))
_FUNCTION = r"(?m)^@@ [^\n]*?@@ [^\n]+"
_TOTAL = r"(?m)^ [0-9]+ files? changed[^\n]*"
_MAX_FUNCTIONS = 5
_MAX_CHARS = 1000
_FUNCTION_CHARS = 80


def _condensed() -> pl.Expr:
    """Return totals and files in order; a plain diff is treated as one with git's headers."""
    with_headers = TEXT.str.replace_all(r"(?m)^--- ([^\n]+)\n\+\+\+ ", f"{_FILE}$1\n+++ ")
    is_git = TEXT.str.contains(_FILE, literal=True)
    sections = pl.when(is_git).then(TEXT).otherwise(with_headers)
    files = sections.str.split(_FILE).list.eval(_file(pl.element()))
    totals = matching_lines(TEXT, _TOTAL)
    return truncate(join_lines(totals.list.concat(files)), _MAX_CHARS)


def _file(section: pl.Expr) -> pl.Expr:
    new_path = section.str.extract(_NEW_PATH).replace("/dev/null", None)
    path = pl.coalesce(new_path, section.str.extract(_OLD_PATH))
    counts = pl.format(
        "{} +{} -{}", path, section.str.count_matches(_ADDED), section.str.count_matches(_REMOVED)
    )
    return (counts + _functions(section)).fill_null("")


def _functions(section: pl.Expr) -> pl.Expr:
    hunk = pl.element().str.replace(r"^@@ .*?@@ ", "")
    name = hunk.str.head(_FUNCTION_CHARS).str.strip_chars_end(" {(:")
    names = section.str.extract_all(_FUNCTION).list.eval(name).list.unique(maintain_order=True)
    joined = names.list.head(_MAX_FUNCTIONS).list.join(", ")
    return pl.when(joined == "").then(pl.lit("")).otherwise(" (" + joined + ")")


DIFFS = ContentType("diffs", TEXT.str.contains(_DIFF), _condensed())
