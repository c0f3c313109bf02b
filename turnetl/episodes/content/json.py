"""JSON: its error, what names and counts the thing, and which keys there are."""

import polars as pl

from turnetl.episodes.content.base import TEXT, ContentType, join_lines, truncate

_SIGN = r"\A[ \t\n]*(?:\[[ \t\n]*)?\{[ \t\n]*\"[^\"\n]*\"[ \t\n]*:"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_ERROR = "errors?|error_description|message|detail|reason|stderr"
_WORDS = "body|text|content|description|summary|output|stdout"
_TELLING = (
    "number|title|name|state|status|html_url|url|version|branch|sha|identifier|conclusion|login"
    "|count|total|key|type|path|result|success|code|line|id"
)
_PAIR = (
    rf'"(?:{_ERROR}|{_WORDS}|{_TELLING})"[ \t\n]*:[ \t\n]*'
    rf"(?:{_TEXT}|-?[0-9][0-9.eE+-]*|true|false)"
)
_OPAQUE = r"://api\.|avatar|://[^ ]*/users/|^id: .{17}|: $"
_KEY = r'"[A-Za-z_$][A-Za-z0-9_.$-]*"[ \t\n]*:'
_PLUMBING = r"_id$|_url$|_at$|^id$|^url$|At$|Id$|^href$"
_KEYS, _VALUES, _TEXTS, _ERRORS = 8, 8, 5, 3
_MANY = 3
"""Values that tell what it is; with fewer its keys are told, too."""
_ROOM, _LONG = 100, 300
"""Characters of a value and of a text."""


def _shortened() -> pl.Expr:
    # One step after the other: what an expression uses twice, it works out twice.
    pairs = TEXT.str.extract_all(_PAIR).list.eval(_pair(pl.element()))
    said = pairs.list.eval(_telling(pl.element()))
    keys = TEXT.str.extract_all(_KEY).list.eval(_name(pl.element()))
    names = keys.list.unique(maintain_order=True).list.head(_KEYS).list.join(", ")
    told = pl.when(said.list.len() < _MANY).then("JSON of " + names).otherwise(pl.lit(""))
    return join_lines(said.list.concat(pl.concat_list(told)), _LONG)


def _name(key: pl.Expr) -> pl.Expr:
    name = key.str.replace_all(r'[" \t\n:]', "")
    return name.filter(~name.str.contains(_PLUMBING))


def _telling(pairs: pl.Expr) -> pl.Expr:
    """Return errors, then what names or counts, then texts: some of each, none that is opaque."""
    opaque = pairs.str.contains(_OPAQUE)
    errors, values, texts = (
        pairs.filter(pairs.str.contains(f"^(?:{names}): ") & ~opaque)
        .unique(maintain_order=True)
        .head(count)
        for names, count in ((_ERROR, _ERRORS), (_TELLING, _VALUES), (_WORDS, _TEXTS))
    )
    return errors.append(truncate(values, _ROOM)).append(texts)


def _pair(pair: pl.Expr) -> pl.Expr:
    """Return `key: value`."""
    plain = pair.str.replace(r'^"([^"]*)"[ \t\n]*:[ \t\n]*', "$1: ")
    return plain.str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ").str.replace_all(r'\\?"', "")


JSON = ContentType("json", TEXT.str.contains(_SIGN), _shortened())
