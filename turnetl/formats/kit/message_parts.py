"""The parts of a message: the values that agents write in many forms."""

from collections.abc import Iterable, Iterator
from typing import Any

from turnetl.base.reason import SkipReason

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
