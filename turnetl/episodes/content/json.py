"""JSON: its error, what names and counts the thing, and which keys there are."""

import polars as pl

from turnetl.episodes.content.base import TEXT, Kind, cut, joined

_SIGN = r"\A[ \t\n]*(?:\[[ \t\n]*)?\{[ \t\n]*\"[^\"\n]*\"[ \t\n]*:"
_VALUE = r'(?:"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false)'
_ERROR = rf'"(?:errors?|error_description|message|detail|reason|stderr)"[ \t\n]*:[ \t\n]*{_VALUE}'
_WORDS = (
    r'"(?:body|text|content|description|summary|output|stdout)"[ \t\n]*:[ \t\n]*"(?:[^"\\]|\\.)+"'
)
_TELLING = (
    r'"(?:number|title|name|state|status|html_url|url|version|branch|sha|identifier|conclusion|login'
    rf'|count|total|key|type|path|result|success|code|line)"[ \t\n]*:[ \t\n]*{_VALUE}'
    r'|"id"[ \t\n]*:[ \t\n]*(?:[0-9]{1,9}|"[^"]{1,12}")'
)
_OPAQUE = r"://api\.|avatar|://[^ ]*/users/"
_KEY = r'"[A-Za-z_$][A-Za-z0-9_.$-]*"[ \t\n]*:'
_PLUMBING = r"_id$|_url$|_at$|^id$|^url$|At$|Id$|^href$"
_KEYS, _VALUES, _TEXTS, _ERRORS = 8, 8, 5, 3
_ROOM, _LONG = 100, 300
"""Characters of a value and of a text."""


def _shortened() -> pl.Expr:
    values = _pairs(_ERROR, _ERRORS, _LONG).list.concat(_pairs(_TELLING, _VALUES, _ROOM))
    said = values.list.concat(_pairs(_WORDS, _TEXTS, _LONG))
    keys = TEXT.str.extract_all(_KEY).list.eval(_name(pl.element()))
    names = keys.list.unique(maintain_order=True).list.head(_KEYS).list.join(", ")
    return joined(said.list.concat(pl.concat_list("JSON of " + names)), _LONG)


def _name(key: pl.Expr) -> pl.Expr:
    name = key.str.replace_all(r'[" \t\n:]', "")
    return name.filter(~name.str.contains(_PLUMBING))


def _pairs(pattern: str, count: int, room: int) -> pl.Expr:
    """Return `key: value`, each once."""
    plain = pl.element().str.replace(r'^"([^"]*)"[ \t\n]*:[ \t\n]*', "$1: ")
    bare = plain.str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ").str.replace_all(r'\\?"', "")
    told = cut(bare.str.replace_all(r"[ \t\n]+", " ").str.strip_chars(), room)
    found = TEXT.str.extract_all(pattern).list.eval(told.filter(~told.str.contains(_OPAQUE)))
    return found.list.unique(maintain_order=True).list.head(count)


JSON = Kind("json", TEXT.str.contains(_SIGN), _shortened())
