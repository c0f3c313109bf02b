"""Code: its length and the signatures in it, or where there are none its first lines."""

import polars as pl

from turnetl.episodes.content.base import ROLE, TEXT, ContentType, join_lines, truncate

_SIGNATURE = (
    r"(?m)^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async"
    r"|pub(?:\([a-z]+\))?|unsafe|override|virtual|sealed|data|open|inline|const|extern) +)*"
    r"(?:def|class|func|function\*?|fn|interface|struct|enum|trait|impl|type|module|namespace|record"
    r"|object|protocol|extension|CREATE (?:TABLE|INDEX|VIEW|FUNCTION)|const [\w$]+ = (?:async )?\("
    r"|macro_rules!) *[\w$(\"`][^\n]*"
    # Methods of Java, C# and C++ have no word of their own.
    r"|^[ \t]*(?:public|private|protected|static) [\w<>\[\], ?]+ \w+\([^\n]*"
    r"|^export const [^\n]*"
)
_LINE = 110
_SIGNATURES = 12
_HEAD = 6


def _shortened() -> pl.Expr:
    """Return signatures; of what has none (a script, a table, settings) the first lines."""
    found = _lines(TEXT.str.extract_all(_SIGNATURE), _SIGNATURES)
    head = _lines(TEXT.str.split("\n"), _HEAD)
    kept = pl.when(found.list.len() > 0).then(found).otherwise(head)
    count = pl.format(
        "{} lines: ", TEXT.str.strip_chars().str.count_matches("\n", literal=True) + 1
    )
    return count + join_lines(kept)


def _lines(found: pl.Expr, count: int) -> pl.Expr:
    line = pl.element().str.replace_all(r"\s+", " ").str.strip_chars(" {:;\\")
    told = found.list.eval(truncate(line, _LINE))
    said = told.list.eval(pl.element().filter(pl.element() != ""))
    return said.list.unique(maintain_order=True).list.head(count)


CODE = ContentType("code", ROLE == "code", _shortened())
