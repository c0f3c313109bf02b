"""Cypher that returns rows in pages: lists of rows.

The driver needs 150 µs of CPU for a record, whatever it holds, and a few for a row within one. The
server holds a reference to each item while it reads the properties of one page after the other.
"""

from typing import LiteralString

NODE: LiteralString = "item.group_id IS NOT NULL"
LINK: LiteralString = "size(labels(startNode(item))) > 0"
"""Whether an item is still there: another transaction may delete it meanwhile."""
PAGE: LiteralString = "2000"
"""Rows of a page without vectors or texts: about a megabyte."""
SMALL_PAGE: LiteralString = "200"
"""Rows with vectors or texts: some megabytes."""


def in_pages(
    match: LiteralString, is_there: LiteralString, row: LiteralString, page: LiteralString = PAGE
) -> LiteralString:
    """Return a query for `Neo4jClient.pages`.

    Args:
        match: binds `item`, a node or a relationship.
        is_there: `NODE`, also for a relationship with a group, or `LINK`.
        row: an expression of the item, a list or a map.
        page: `PAGE` or `SMALL_PAGE`.
    """
    return f"""
{match}
WITH collect(item) AS items
UNWIND range(0, size(items) - 1, {page}) AS start
RETURN [item IN items[start..start + {page}] WHERE {is_there} | {row}] AS rows
"""


def microseconds(*times: str) -> LiteralString:
    """Return entries of a map: properties of the item as microseconds since 1970."""
    return ", ".join(f"{time}: {microsecond(time)}" for time in times)


def microsecond(time: str) -> LiteralString:
    """Return a property of the item as microseconds since 1970.

    The driver needs 40 µs to build a time, and less than 1 µs to read an integer.
    """
    return f"item.{time}.epochSeconds * 1000000 + item.{time}.microsecond"
