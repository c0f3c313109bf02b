"""Texts of an episodes table that its next version can keep: only changed turns are rendered."""

import polars as pl

from turnetl.base.model import GroupId
from turnetl.lake import Lake

RENDERED = ("kind", "text", "chunks", "chars_after", "tokens", "text_hash")
"""The columns of `schema.EPISODES` that are rendered."""
INPUTS = ("turn_id", "content_hash", "cwd", "closed_by")
"""The columns of a turn that determine what is rendered: its content by a digest."""
_MAX_SPREAD = 4
"""Rows that may be read for each row that is kept."""


class RenderedTexts:
    """The rendered columns of a group's table."""

    def __init__(self, lake: Lake, group: GroupId) -> None:
        """Read which turns the table has.

        Raises:
            TableUnusable: the table is damaged.
        """
        lake.verify_episodes(group)
        self._lake, self._group = lake, group
        self._rows = lake.scan_episodes(group)
        with lake.reading_episodes(group):
            self._turns = self._rows.select(INPUTS).with_row_index("position").collect()

    def of(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return `RENDERED` of the turns that the table has unchanged, with their `index`.

        The index is the position among `turns`, in ascending order.
        """
        keys = turns.select(INPUTS).with_row_index()
        known = keys.join(
            self._turns, on=INPUTS, how="inner", nulls_equal=True, maintain_order="left"
        )
        first = known["position"].min() if known.height else None
        last = known["position"].max()
        if not isinstance(first, int) or not isinstance(last, int):
            return self._read(0, 0).with_columns(index=pl.lit(0, pl.UInt32))
        # Turns that are far apart in the table are rendered again: its rows may exceed the memory.
        length = last - first + 1
        if length > _MAX_SPREAD * known.height:
            return self._read(0, 0).with_columns(index=pl.lit(0, pl.UInt32))
        return self._read(first, length)[known["position"] - first].with_columns(known["index"])

    def _read(self, first: int, length: int) -> pl.DataFrame:
        with self._lake.reading_episodes(self._group):
            return self._rows.slice(first, length).select(RENDERED).collect()
