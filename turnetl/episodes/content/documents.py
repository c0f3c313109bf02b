"""Content types of texts that somebody wrote: code, diffs, JSON."""

import polars as pl

from turnetl.episodes.content.base import (
    ROLE,
    TEXT,
    ContentType,
    join_lines,
    matching_lines,
    truncate,
)

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
_NAME = (
    r"(?-u:https?://[!#-&*-;=?-Z_a-z~]+|--[a-z][\w-]+|[\w./-]+\.[A-Za-z]+\b"
    r"|[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+)+|[A-Za-z][a-z0-9]+[A-Z]\w+|[A-Z][A-Z]+-[0-9]+)"
)
"""What a search may ask for: addresses, options, files, dotted and compound names, tickets."""
_LINE_CHARS = 110
_MAX_SIGNATURES, _MAX_HEAD, _MAX_NAMES = 12, 6, 24


def _condensed() -> pl.Expr:
    """Return signatures, else (a script, a table, settings) the first lines; and further names."""
    signatures = _first_lines(TEXT.str.extract_all(_SIGNATURE), _MAX_SIGNATURES)
    head = _first_lines(TEXT.str.split("\n"), _MAX_HEAD)
    lines = join_lines(pl.when(signatures.list.len() > 0).then(signatures).otherwise(head))
    first = TEXT.str.extract_all(_NAME).list.unique(maintain_order=True).list.head(2 * _MAX_NAMES)
    breaks = TEXT.str.strip_chars().str.count_matches("\n", literal=True)
    # In a struct, because polars evaluates an expression at each use.
    parts = pl.struct(breaks=breaks + 1, lines=lines, names=first)
    known = pl.field("lines").str.extract_all(_NAME)
    names = pl.field("names").list.set_difference(known)
    # Sorted, because a difference of sets has no order.
    kept = names.list.sort().list.head(_MAX_NAMES)
    listed = kept.list.eval(truncate(pl.element(), _LINE_CHARS)).list.join(", ")
    text = pl.format("{} lines: {}; names: {}", pl.field("breaks"), pl.field("lines"), listed)
    return parts.struct.with_fields(text=text).struct.field("text").str.strip_suffix("; names: ")


def _first_lines(lines: pl.Expr, count: int) -> pl.Expr:
    plain = pl.element().str.replace_all(r"\s+", " ").str.strip_chars(" {:;\\")
    truncated = lines.list.eval(truncate(plain, _LINE_CHARS))
    not_blank = truncated.list.eval(pl.element().filter(pl.element() != ""))
    return not_blank.list.unique(maintain_order=True).list.head(count)


CODE = ContentType("code", ROLE == "code", _condensed())


_DIFF = r"(?m)^(?:diff --git |@@ -[0-9]+(?:,[0-9]+)? \+[0-9])"
_FILE = "diff --git "
_NEW_PATH, _OLD_PATH = r"(?m)^\+\+\+ (?:b/)?([^\n\t]+)", r"\A(?:--- )?a/([^\n\t ]+)"
_ADDED, _REMOVED = (rf"(?m)^{sign}(?:[^{sign}\n]|$)" for sign in (r"\+", "-"))
_FUNCTION = r"(?m)^@@ [^\n]*?@@ [^\n]+"
_TOTAL = r"(?m)^ [0-9]+ files? changed[^\n]*"
_MAX_FUNCTIONS = 5
_MAX_CHARS = 1000
_FUNCTION_CHARS = 80


def _diffs_condensed() -> pl.Expr:
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


DIFFS = ContentType("diffs", TEXT.str.contains(_DIFF), _diffs_condensed())


_OBJECT = r"\A[ \t\n]*(?:\[[ \t\n]*)?\{[ \t\n]*\"[^\"\n]*\"[ \t\n]*:"
_STRING = r'"(?:[^"\\]|\\.)*"'
_ERROR_KEYS = "errors?|error_description|message|detail|reason|stderr"
_TEXT_KEYS = "body|text|content|description|summary|output|stdout"
_IDENTIFYING_KEYS = (
    "number|title|name|state|status|html_url|url|version|branch|sha|identifier|conclusion|login"
    "|count|total|key|type|path|result|success|code|line|id"
)
_PAIR = (
    rf'"(?:{_ERROR_KEYS}|{_TEXT_KEYS}|{_IDENTIFYING_KEYS})"[ \t\n]*:[ \t\n]*'
    rf"(?:{_STRING}|-?[0-9][0-9.eE+-]*|true|false)"
)
_OPAQUE = r"://api\.|avatar|://[^ ]*/users/|^id: .{17}|: $"
_KEY = r'"[A-Za-z_$][A-Za-z0-9_.$-]*"[ \t\n]*:'
_TECHNICAL_KEY = r"_id$|_url$|_at$|^id$|^url$|At$|Id$|^href$"
_MAX_KEYS, _MAX_VALUES, _MAX_TEXTS, _MAX_ERRORS = 8, 8, 5, 3
_ENOUGH_PAIRS = 3
"""Pairs that describe the object; with fewer, its keys are listed too."""
_VALUE_CHARS, _TEXT_CHARS = 100, 300
"""Maximum characters of a value and of a text."""


def _json_condensed() -> pl.Expr:
    # In steps, because polars evaluates an expression at each use.
    pairs = TEXT.str.extract_all(_PAIR).list.eval(_pair(pl.element()))
    selected = pairs.list.eval(_selected(pl.element()))
    keys = TEXT.str.extract_all(_KEY).list.eval(_key(pl.element()))
    names = keys.list.unique(maintain_order=True).list.head(_MAX_KEYS).list.join(", ")
    few_pairs = selected.list.len() < _ENOUGH_PAIRS
    key_list = pl.when(few_pairs).then("JSON of " + names).otherwise(pl.lit(""))
    return join_lines(selected.list.concat(pl.concat_list(key_list)), _TEXT_CHARS)


def _key(key: pl.Expr) -> pl.Expr:
    name = key.str.replace_all(r'[" \t\n:]', "")
    return name.filter(~name.str.contains(_TECHNICAL_KEY))


def _selected(pairs: pl.Expr) -> pl.Expr:
    """Return errors, then identifying values, then texts: some of each, without opaque ones."""
    opaque = pairs.str.contains(_OPAQUE)
    errors, values, texts = (
        pairs.filter(pairs.str.contains(f"^(?:{keys}): ") & ~opaque)
        .unique(maintain_order=True)
        .head(count)
        for keys, count in (
            (_ERROR_KEYS, _MAX_ERRORS),
            (_IDENTIFYING_KEYS, _MAX_VALUES),
            (_TEXT_KEYS, _MAX_TEXTS),
        )
    )
    return errors.append(truncate(values, _VALUE_CHARS)).append(texts)


def _pair(pair: pl.Expr) -> pl.Expr:
    plain = pair.str.replace(r'^"([^"]*)"[ \t\n]*:[ \t\n]*', "$1: ")
    return plain.str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ").str.replace_all(r'\\?"', "")


JSON = ContentType("json", TEXT.str.contains(_OBJECT), _json_condensed())
