"""Elements in texts: what clients and users wrote between tags such as `<task>` and `</task>`.

In time proportional to the text, whatever is in it: a regular expression with a tag at each end
reads the rest of the text for every tag that is not closed.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_TAG = re.compile(r"<([A-Za-z][\w-]*)(?: [^<>]*)?>")


class Element(NamedTuple):
    """An element, which is in no other one."""

    tag: str
    text: str
    """What is between its tags, stripped of whitespace."""
    start: int
    end: int


def elements(text: str, is_read: Callable[[str], bool]) -> Iterator[Element]:
    """Yield the elements whose tag is to be read, in order. A tag that is not closed is text."""
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
