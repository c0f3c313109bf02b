"""JSON: its error, what names and counts the thing, and which keys there are."""

import polars as pl

from turnetl.episodes.content.base import TEXT, Kind, cut, joined

_SIGN = r"\A\s*(?:\[\s*)?\{\s*\"[^\"\n]*\"\s*:"
_VALUE = r'(?:"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false)'
_ERROR = rf'"(?:errors?|error_description|message|detail|reason|stderr)"\s*:\s*{_VALUE}'
_TELLING = (
    r'"(?:id|number|title|name|state|status|html_url|url|version|branch|sha|identifier|conclusion'
    rf'|count|total|key|type|path|result|success|summary|code)"\s*:\s*{_VALUE}'
)
_KEY = r'"[A-Za-z_$][\w.$-]*"\s*:'
_KEYS, _VALUES, _ERRORS = 20, 8, 3
_ROOM = 120


def _shortened() -> pl.Expr:
    values = _pairs(_ERROR, _ERRORS).list.concat(_pairs(_TELLING, _VALUES))
    keys = TEXT.str.extract_all(_KEY).list.eval(pl.element().str.replace_all(r'["\s:]', ""))
    names = keys.list.unique(maintain_order=True).list.head(_KEYS).list.join(", ")
    return joined(values.list.concat(pl.concat_list("JSON of " + names)))


def _pairs(pattern: str, count: int) -> pl.Expr:
    """Return `key: value`, each once."""
    plain = pl.element().str.replace(r'^"([^"]*)"\s*:\s*', "$1: ").str.replace_all(r'"|\\n', " ")
    tidy = cut(plain.str.replace_all(r"\s+", " ").str.strip_chars(), _ROOM)
    found = TEXT.str.extract_all(pattern).list.eval(tidy)
    return found.list.unique(maintain_order=True).list.head(count)


JSON = Kind("json", TEXT.str.contains(_SIGN), _shortened())
