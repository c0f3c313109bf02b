"""Cypher that returns rows in pages: lists of rows, each a list of its columns.

The driver needs 150 µs of CPU for a record, whatever it holds, and a few for a row within one. The
server holds a reference to each item while it reads the properties of one page after the other.
"""

from typing import LiteralString

NODE: LiteralString = "item.group_id IS NOT NULL"
LINK: LiteralString = "size(labels(startNode(item))) > 0"
"""Whether an item is still there: another transaction may delete it meanwhile."""
_PAGE: LiteralString = "2000"
"""Rows: without vectors, about a megabyte."""


def in_pages(
    match: LiteralString, is_there: LiteralString, columns: LiteralString
) -> LiteralString:
    """Return a query for `Neo4jClient.pages`.

    Args:
        match: binds `item`, a node or a relationship.
        is_there: `NODE`, also for a relationship with a group, or `LINK`.
        columns: expressions of the item, separated by commas.
    """
    return f"""
{match}
WITH collect(item) AS items
UNWIND range(0, size(items) - 1, {_PAGE}) AS start
RETURN [item IN items[start..start + {_PAGE}] WHERE {is_there} | [{columns}]] AS page
"""
