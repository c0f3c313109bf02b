"""The page of an id or a name that leads to several things."""

from dataclasses import dataclass

from turnetl.retrieval.items import AmbiguousItem
from turnetl.web import links
from turnetl.web.views.references import NamedLink


@dataclass(frozen=True, slots=True)
class ChoicesPage:
    text: str
    """The id or the name."""
    items: tuple[NamedLink, ...]
    has_more: bool
    """Whether it leads to more than these."""


def choices_page(found: AmbiguousItem) -> ChoicesPage:
    """Return a link to each of the items that the error lists."""
    items = tuple(
        NamedLink(one.description, links.item_link(one.item.kind, one.item.id))
        for one in found.matching
    )
    return ChoicesPage(found.text, items, found.has_more)
