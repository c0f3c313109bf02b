"""Text in prompts: it cannot look like a delimiter of the prompt.

Prompts put text between delimiters such as `<CURRENT MESSAGE>` and `</CURRENT MESSAGE>`. A text
that contains one could end its own section and begin another, such as instructions. `escape_text`
replaces the `<` of each with `&lt;`; `unescape_text` is its inverse, for responses that quote it.
`without_sections` takes the sections between them out of a prompt.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

DELIMITERS = (
    *("ANSWER", "ATTRIBUTES", "BASELINE", "CANDIDATE", "COMMUNITIES", "CURRENT MESSAGE"),
    *("CURRENT MESSAGES", "CUSTOM INSTRUCTIONS", "EARLIER TEXTS", "ENTITIES", "ENTITY"),
    *("ENTITY CONTEXT", "ENTITY SUMMARIES", "ENTITY TYPE DESCRIPTION", "ENTITY TYPE DESCRIPTIONS"),
    *("ENTITY TYPES", "EPISODES", "EXAMPLE", "EXAMPLES", "EXISTING ATTRIBUTES"),
    *("EXISTING ENTITIES", "EXISTING FACTS", "EXISTING KNOWLEDGE", "EXTRACTED ENTITIES", "FACT"),
    *("FACT INVALIDATION CANDIDATES", "FACT TYPES", "FACTS", "JSON", "MESSAGE", "MESSAGES"),
    *("NEW ENTITY", "NEW FACT", "NODES", "PASSAGE", "PASSAGES", "PREVIOUS MESSAGES", "QUERY"),
    *(
        "KNOWN FACTS",
        "QUESTION",
        "REFERENCE TIME",
        "RESPONSE",
        "SOURCE DESCRIPTION",
        "TEXT",
        "TURN",
    ),
)
"""The delimiters of Graphiti's prompts and of turnetl's own; an underscore counts as a space."""
_ROLE_MARKERS = ("start of turn", "end of turn")
"""Delimiters that models themselves have around messages; others are between `<|` and `|>`."""

_OPENERS = {"<": "lt", "\uff1c": "#65308", "\ufe64": "#65124", "\u226e": "#8814"}
"""Each character that may open a delimiter, and its entity."""
_OPENER = re.compile(f"([{''.join(_OPENERS)}])|&((?:amp;)*)({'|'.join(_OPENERS.values())});")
_CHARACTERS = {entity: character for character, entity in _OPENERS.items()}
_PADDING = re.compile(r"(\s)\s*|(_)_*|(-)-*")
_WHITESPACE = "\t\n\r"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARKS = ("Mn", "Me")
_LOOKALIKES = str.maketrans(
    dict.fromkeys("\u2044\u2215\u2571\u29f8", "/")
    | dict.fromkeys("\u2010\u2012\u2013\u2014\u2015\u2212", "-")
)
"""Slashes and dashes without a compatibility form."""
_FILLERS = "\u115f\u1160\u2800"
"""Characters without a form; other letters have the first two as their compatibility form."""
_ANSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
_CACHED_CHARS = 10_000
"""Of the longest text whose escaped form is kept."""
_WINDOW = 200
"""Characters after an opener that are read first; only padding makes a delimiter longer."""
_LONGEST = 60
"""Characters of the longest delimiter, without padding."""
_END = r"(?=[\s/\\>]|\Z)"
_KNOWN = re.compile(
    r"(?P<outer>\s*[/\\][\s/\\]*|(?P<space>\s+)|)"
    rf"(?:{'|'.join(name.replace(' ', '[ _-]*') for name in (*DELIMITERS, *_ROLE_MARKERS))})"
    rf"(?(space)(?=\s*/?>)|{_END})",
    re.IGNORECASE,
)
_SPECIAL_TOKEN = re.compile(r"\|[^|<>]{1,40}\|>")
_WORDS = re.compile(rf"(?:\s*[/\\][\s/\\]*)?(\w+){_END}")
_PHRASE = re.compile(r"(?:\s*[/\\][\s/\\]*)?(\w[\w ]*)>")
_MIN_LETTERS = 4
"""Letters of an all-capital tag that counts as a delimiter whatever its name is."""


def escape_text(text: str) -> str:
    """Return the text with every delimiter escaped; a text without one is returned as it is.

    Letter case, spaces, underscores, attributes, invisible characters, marks and other forms do not
    matter. Every all-capital tag of four letters or more counts as a delimiter.
    """
    return _escaped(text) if len(text) <= _CACHED_CHARS else _replaced(text, _escaped_opener)


def unescape_text(text: str) -> str:
    return _replaced(text, _unescaped_opener)


def escape_values(value: Any) -> Any:
    """Return a JSON-like value with every text in it escaped, keys included."""
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, Mapping):
        return {escape_values(key): escape_values(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [escape_values(child) for child in value]
    return value


def unescape_values(value: Any) -> Any:
    """Return parsed JSON with every text in it unescaped; keys are those of a schema."""
    if isinstance(value, str):
        return unescape_text(value)
    if isinstance(value, dict):
        return {key: unescape_values(child) for key, child in value.items()}
    return [unescape_values(child) for child in value] if isinstance(value, list) else value


@lru_cache(maxsize=2_000)
def _escaped(text: str) -> str:
    return _replaced(text, _escaped_opener)


def _replaced(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    openers = list(_OPENER.finditer(text))
    if not openers:
        return text
    parts, done = [], 0
    ends = [opener.start() for opener in openers[1:]]
    for opener, end in zip(openers, [*ends, len(text)], strict=True):
        if _starts_with_delimiter(text, opener.end(), end):
            parts += [text[done : opener.start()], replace(opener)]
            done = opener.end()
    return "".join(parts) + text[done:] if parts else text


def _escaped_opener(opener: re.Match[str]) -> str:
    if opener[1]:
        return f"&{_OPENERS[opener[1]]};"
    return f"&amp;{opener[0][1:]}"


def _unescaped_opener(opener: re.Match[str]) -> str:
    if opener[1]:
        return opener[0]
    return f"&{opener[0][len('&amp;') :]}" if opener[2] else _CHARACTERS[opener[3]]


def _starts_with_delimiter(text: str, start: int, end: int) -> bool:
    plain = _plain(text[start : min(end, start + _WINDOW)])
    if end > start + _WINDOW and len(plain) < _LONGEST:
        plain = _plain(text[start:end])
    return _is_delimiter(plain)


def _is_delimiter(plain: str) -> bool:
    if _KNOWN.match(plain) or _SPECIAL_TOKEN.match(plain):
        return True
    names = (match[1] for match in (_WORDS.match(plain), _PHRASE.match(plain)) if match)
    return any(name.isupper() and sum(map(str.isalpha, name)) >= _MIN_LETTERS for name in names)


def _plain(text: str) -> str:
    """Return the compatibility form of the text, without marks, invisible characters, padding."""
    text = _ANSI.sub("", text)
    if text.isascii():
        return _unpadded(_CONTROLS.sub("", text))
    # Decomposed, so that no mark hides in a letter.
    visible = filter(_is_visible, unicodedata.normalize("NFKD", text))
    return _unpadded("".join(visible).translate(_LOOKALIKES))


def _unpadded(text: str) -> str:
    return _PADDING.sub(lambda run: " " if run[1] else run[0][0], text)


def _is_visible(char: str) -> bool:
    if char.isprintable():
        return char not in _FILLERS and unicodedata.category(char) not in _MARKS
    return char in _WHITESPACE


def without_sections(text: str, names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Return the text without the first section of each name, and these sections by name.

    A second section of a name is one of a template, which is behind those of Graphiti.
    """
    moved: dict[str, str] = {}
    parts, done = [], 0
    for name, section in _sections(text, names):
        if name not in moved:
            moved[name] = text[section].strip("\n")
            parts += [text[done : section.start], "\n\n"]
            done = section.stop
    return "".join([*parts, text[done:]]).strip(), moved


def _sections(text: str, names: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Yield the name of each section, and where it is, with the line breaks around it.

    One expression for a whole section would take fifteen times as long.
    """
    opener, done, searched = re.compile(rf"<({'|'.join(names)})>\n"), 0, 0
    while found := opener.search(text, searched):
        searched, closer = found.end(), f"\n</{found[1]}>"
        end = text.find(closer, searched)
        if end < 0:
            continue
        start, searched = found.start(), end + len(closer)
        while start > done and text[start - 1] == "\n":
            start -= 1
        while text.startswith("\n", searched):
            searched += 1
        done = searched
        yield found[1], slice(start, done)
