"""JSON: its error, what names and counts the thing, and which keys there are."""

import polars as pl

from turnetl.episodes.content.base import TEXT, Kind, cut, joined

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
_ROOM, _LONG = 100, 300
"""Characters of a value and of a text."""


def _shortened() -> pl.Expr:
    pairs = TEXT.str.extract_all(_PAIR).list.eval(_pair(pl.element()))
    of = [
        pairs.list.eval(pl.element().filter(pl.element().str.contains(f"^(?:{names}): ")))
        for names in (_ERROR, _TELLING, _WORDS)
    ]
    values = of[1].list.eval(cut(pl.element(), _ROOM)).list.head(_VALUES)
    said = of[0].list.head(_ERRORS).list.concat(values).list.concat(of[2].list.head(_TEXTS))
    keys = TEXT.str.extract_all(_KEY).list.eval(_name(pl.element()))
    names = keys.list.unique(maintain_order=True).list.head(_KEYS).list.join(", ")
    return joined(said.list.concat(pl.concat_list("JSON of " + names)), _LONG)


def _name(key: pl.Expr) -> pl.Expr:
    name = key.str.replace_all(r'[" \t\n:]', "")
    return name.filter(~name.str.contains(_PLUMBING))


def _pair(pair: pl.Expr) -> pl.Expr:
    """Return `key: value`, each once, but for what only a program can read."""
    plain = pair.str.replace(r'^"([^"]*)"[ \t\n]*:[ \t\n]*', "$1: ")
    bare = plain.str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ").str.replace_all(r'\\?"', "")
    return bare.filter(~bare.str.contains(_OPAQUE)).unique(maintain_order=True)


JSON = Kind("json", TEXT.str.contains(_SIGN), _shortened())
