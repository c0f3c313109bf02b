"""The parameters of a page, and the addresses of pages, which are all in one folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.index.conditions import CONDITIONS, ConditionDeclaration, Selection
from turnetl.retrieval.search import Order

_CONDITIONS = tuple(name for name in CONDITIONS if name != "groups")
_SUBJECTS = ("id", "name", "path")
"""What a page is about that is no list of turns."""
_MAX_PAGE = 1_000_000

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PageForm:
    """What a user asks a page for, as it was typed."""

    query: str = ""
    groups: tuple[str, ...] = ()
    """Ids of groups or project names."""
    values: Mapping[str, str] = field(default_factory=dict)
    """By name: conditions, times, and what the page is about; none is empty."""
    order: Order = Order.SCORE
    page: int = 1
    """From 1."""

    @property
    def is_empty(self) -> bool:
        return not (self.query.strip() or self.groups or self.values)

    @property
    def has_conditions(self) -> bool:
        """Return whether another condition is given than the two times."""
        return any(name in self.values for name in _CONDITIONS if name not in ("since", "until"))

    def value(self, name: str) -> str:
        return self.values.get(name, "")

    def declared(self, condition: str) -> ConditionDeclaration:
        return CONDITIONS[condition]

    def pairs(self, *, page: int | None = None) -> Pairs:
        """Return the parameters of the same page, or of another page of the same list."""
        pairs = [("q", self.query), *(("group", group) for group in self.groups)]
        pairs += self.values.items()
        if self.order is not Order.SCORE:
            pairs.append(("sort", self.order.value))
        number = self.page if page is None else page
        return [*pairs, *([("page", str(number))] if number > 1 else [])]

    def selection(self, now: datetime) -> Selection:
        """Return the conditions on turns; times such as `7d` are relative to `now`."""
        groups = tuple(GroupId(group) for group in self.groups)
        return Selection(groups).stated(self.values, now, _named)


def _named(condition: str) -> str:
    return f"“{condition.replace('_', ' ')}”"


def read_form(parameters: Iterable[tuple[str, str]]) -> PageForm:
    """Return the form with these parameters; those of an unknown name are ignored.

    A parameter that may be given once and is repeated has its last value.
    """
    given: dict[str, str] = {}
    groups = list[str]()
    for name, value in parameters:
        text = value.strip()
        if not text:
            continue
        if name == "group":
            groups.append(text)
        else:
            given[name] = text
    return PageForm(
        query=given.get("q", ""),
        groups=tuple(dict.fromkeys(groups)),
        values={name: given[name] for name in (*_SUBJECTS, *_CONDITIONS) if name in given},
        order=_order(given.get("sort")),
        page=_page(given.get("page")),
    )


def _order(text: str | None) -> Order:
    if text is None:
        return Order.SCORE
    if text not in list(Order):
        raise BadUsage(f"hits are ordered by {' or '.join(Order)}, not by `{text}`")
    return Order(text)


def _page(text: str | None) -> int:
    if text is None:
        return 1
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_PAGE))
    if not is_number or not 1 <= int(text) <= _MAX_PAGE:
        raise BadUsage(f"`{text}` is no page: pages are numbers from 1 to {_MAX_PAGE:,}")
    return int(text)


SEARCH, TIMELINE, FIX, REPORT, PROJECT = "search", "timeline", "fix", "report", "project"
TURN, SESSION, ENTITY, FILE, FACT, LINES = "turn", "session", "entity", "file", "fact", "lines"
"""An item has the page with the name of its `ItemKind`."""


def link(page: str, pairs: Iterable[tuple[str, str]] = ()) -> str:
    """Return the address of a page with parameters; those without a value are left out.

    Ids and names are parameters and not parts of the path: browsers change a path with `..` in it.
    """
    query = urlencode(
        [(name, value) for name, value in pairs if value], errors="replace", encoding="utf-8"
    )
    return f"{page}?{query}" if query else page


def item_link(page: str, item_id: str) -> str:
    """Return the address of a turn, session, entity, fact, or of the lines of a turn."""
    return link(page, [("id", item_id)])


def file_link(path: str, group: GroupId) -> str:
    """Return the page of a file: other groups may have one of the same path."""
    return link(FILE, [("path", path), ("group", group)])
