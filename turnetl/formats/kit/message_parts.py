"""The parts of a message: values that agents write in many forms, and elements in their texts."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from turnetl.base.reason import SkipReason

_TAG = re.compile(r"<([A-Za-z][\w-]*)(?: [^<>]*)?>")
_MEDIA = {"image": "[image]", "image_url": "[image]", "document": "[document]"}
"""Parts of a prompt without a text, and what stands for them."""


def at(value: object, *path: str) -> Any:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list, or the object itself."""
    listed = value if isinstance(value, list) else [value]
    return [item for item in listed if isinstance(item, dict)]


def first_of(reasons: Iterable[SkipReason | None]) -> SkipReason | None:
    """Return None if a part of a row was used, else the first reason; of no part: no text."""
    known = [*reasons]
    return None if None in known else next(iter(known), SkipReason.NO_TEXT)


def plain_text(content: object) -> object:
    """Return the joined texts of a list of parts; another value as it is."""
    if not isinstance(content, list):
        return content
    return "\n".join(texts_of(content)) or (content or "")


def text_of(value: object) -> str | None:
    """Return a text that is not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def texts_of(parts: Iterable[object]) -> Iterator[str]:
    """Yield the texts among the parts."""
    for part in parts:
        is_text = isinstance(part, dict) and part.get("type", "text") == "text"
        if text := text_of(at(part, "text") if is_text else part):
            yield text


def media_of(parts: Iterable[object]) -> Iterator[str]:
    """Yield what stands for each image and document."""
    kinds = (str(part.get("type")) for part in objects([*parts]))
    return (_MEDIA[kind] for kind in kinds if kind in _MEDIA)


_URI = re.compile(r"[A-Za-z][\w+.-]*://[^/]*(.*)", re.DOTALL)
_DRIVE = re.compile(r"/[A-Za-z]:")


def path_of_uri(uri: str) -> str:
    """Return the path in a URI of a file or folder, decoded; another text as it is.

    One of Windows begins with the drive: that of `file:///c%3A/shop` is `c:/shop`.
    """
    found = _URI.fullmatch(uri)
    if found is None:
        return uri
    path = unquote(found[1])
    return path[1:] if _DRIVE.match(path) else path


class Element(NamedTuple):
    """An element, which is in no other one."""

    tag: str
    text: str
    """What is between its tags, stripped of whitespace."""
    start: int
    end: int


def elements(text: str, is_read: Callable[[str], bool]) -> Iterator[Element]:
    """Yield what is between tags such as `<task>` and `</task>`, in order.

    A tag that is not closed is text. Takes time in proportion to the text, whatever is in it: a
    regular expression would read the rest of the text for every such tag.
    """
    position, unclosed = 0, set[str]()
    while (opened := _TAG.search(text, position)) is not None:
        tag, position = opened[1], opened.end()
        if tag in unclosed or not is_read(tag):
            continue
        closing = f"</{tag}>"
        if (closed := text.find(closing, position)) < 0:
            unclosed.add(tag)
            continue
        inner, position = text[position:closed].strip(), closed + len(closing)
        yield Element(tag, inner, opened.start(), position)


def without_elements(text: str, is_removed: Callable[[str], bool]) -> str:
    """Return the text without the elements whose tag is to be removed, stripped of whitespace."""
    pieces, position = [], 0
    for element in elements(text, is_removed):
        pieces.append(text[position : element.start])
        position = element.end
    return "".join([*pieces, text[position:]]).strip()
