"""Code: its number of lines and its signatures, or its first lines if it has no signature."""

import polars as pl

from turnetl.episodes.content.base import ROLE, TEXT, ContentType, join_lines, truncate

_SIGNATURE = (
    r"(?m)^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async"
    r"|pub(?:\([a-z]+\))?|unsafe|override|virtual|sealed|data|open|inline|const|extern) +)*"
    r"(?:def|class|func|function\*?|fn|interface|struct|enum|trait|impl|type|module|namespace|record"
    r"|object|protocol|extension|CREATE (?:TABLE|INDEX|VIEW|FUNCTION)|const [\w$]+ = (?:async )?\("
    r"|macro_rules!) *[\w$(\"`][^\n]*"
    # Methods of Java, C# and C++ have no keyword.
    r"|^[ \t]*(?:public|private|protected|static) [\w<>\[\], ?]+ \w+\([^\n]*"
    r"|^export const [^\n]*"
)
_LINE_CHARS = 110
_MAX_SIGNATURES = 12
_MAX_HEAD = 6


def _condensed() -> pl.Expr:
    """Return signatures; of a text without any (a script, a table, settings) the first lines."""
    signatures = _first_lines(TEXT.str.extract_all(_SIGNATURE), _MAX_SIGNATURES)
    head = _first_lines(TEXT.str.split("\n"), _MAX_HEAD)
    lines = pl.when(signatures.list.len() > 0).then(signatures).otherwise(head)
    breaks = TEXT.str.strip_chars().str.count_matches("\n", literal=True)
    return pl.format("{} lines: ", breaks + 1) + join_lines(lines)


def _first_lines(lines: pl.Expr, count: int) -> pl.Expr:
    plain = pl.element().str.replace_all(r"\s+", " ").str.strip_chars(" {:;\\")
    truncated = lines.list.eval(truncate(plain, _LINE_CHARS))
    not_blank = truncated.list.eval(pl.element().filter(pl.element() != ""))
    return not_blank.list.unique(maintain_order=True).list.head(count)


CODE = ContentType("code", ROLE == "code", _condensed())
