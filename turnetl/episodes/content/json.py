"""JSON: its errors, the values that identify or count the object, and its keys."""

import polars as pl

from turnetl.episodes.content.base import TEXT, ContentType, join_lines, truncate

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


def _condensed() -> pl.Expr:
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
    """Return `key: value`."""
    plain = pair.str.replace(r'^"([^"]*)"[ \t\n]*:[ \t\n]*', "$1: ")
    return plain.str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ").str.replace_all(r'\\?"', "")


JSON = ContentType("json", TEXT.str.contains(_OBJECT), _condensed())
