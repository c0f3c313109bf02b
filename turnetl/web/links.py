"""Addresses of the pages, relative to each other: all are in one folder."""

from collections.abc import Iterable
from urllib.parse import urlencode

from turnetl.base.model import GroupId
from turnetl.index.lookup import ItemKind

OVERVIEW = "./"
SEARCH, TIMELINE, FIX, REPORT = "search", "timeline", "fix", "report"
TURN, SESSION, ENTITY, FILE, FACT, LINES = "turn", "session", "entity", "file", "fact", "lines"

_PAGES = {
    ItemKind.TURN: TURN,
    ItemKind.SESSION: SESSION,
    ItemKind.ENTITY: ENTITY,
    ItemKind.FACT: FACT,
}


def link(page: str, pairs: Iterable[tuple[str, str]] = ()) -> str:
    """Return the address of a page with parameters; those without a value are left out.

    Ids and names are parameters and not parts of the path: browsers change a path with `..` in it.
    """
    query = urlencode(
        [(name, value) for name, value in pairs if value], errors="replace", encoding="utf-8"
    )
    return f"{page}?{query}" if query else page


def turn_link(turn_id: str) -> str:
    return link(TURN, [("id", turn_id)])


def session_link(session_id: str) -> str:
    return link(SESSION, [("id", session_id)])


def entity_link(uuid: str) -> str:
    return link(ENTITY, [("id", uuid)])


def fact_link(uuid: str) -> str:
    return link(FACT, [("id", uuid)])


def item_link(kind: ItemKind, item_id: str) -> str:
    """Return the page of a turn, a session, an entity or a fact."""
    return link(_PAGES[kind], [("id", item_id)])


def file_link(path: str, group: GroupId) -> str:
    """Return the page of a file: other groups may have one of the same path."""
    return link(FILE, [("path", path), ("group", group)])


def lines_link(turn_id: str) -> str:
    """Return the page of a turn's lines in its archive."""
    return link(LINES, [("id", turn_id)])
