"""The turns of a group in slices of table order: a large group never stands in memory whole.

First what decides is read of all rows, and the turns are put in order and marked. Then the rows
themselves are read: they are still there if they are not too many; else they go to the slices that
they belong to, on disk, each file once. Slices hang on the turns alone, not on how they came.
"""

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from turnetl import noise, schema
from turnetl.episodes import order as ordering
from turnetl.lake import Batch, write_error
from turnetl.noise import NoiseRule

PARTITION_CHARS = 64 << 20
"""Characters of a slice, at most, unless a single turn has more."""
_TURN = 1024
"""Characters that a turn counts for besides its own, so that short ones are not too many."""
MEMORY_LIMIT = 512 << 20
"""Bytes of rows that may stay in memory until they are put in order."""


def partition(
    batches: Sequence[Batch],
    rules: Sequence[NoiseRule],
    folder: Path,
    *,
    size: int = PARTITION_CHARS,
    room: int = MEMORY_LIMIT,
) -> Generator[pl.DataFrame]:
    """Yield each turn once, in table order: the columns of `schema.TURNS`, `copies` and `noise`.

    Close the iterator if it is left early: then nothing stays in the folder.

    Args:
        batches: rows of `schema.TURNS`, of one group.
        rules: in the order in which they name a turn.
        folder: where rows may wait for their slice, if they are too many for memory.
        size: characters of a slice.
        room: bytes of rows that may be held in memory.
    """
    looked_at, held = _look(batches, rules, room)
    turns = _marked(looked_at, rules).with_columns(_slice(size))
    del looked_at
    if held is None:
        yield from _from_disk(batches, turns, folder)
    else:
        yield from _from_memory(held, turns)


def key_columns(rules: Sequence[NoiseRule]) -> list[pl.Expr]:
    """Return the columns that decide what stands where, and what is noise.

    Of calls only their number, if nobody asks for more.
    """
    names = {*ordering.KEYS, *noise.required_columns(rules)}
    own = {name for rule in rules if rule.definition for name in rule.condition.meta.root_names()}
    number = pl.col("tool_calls").list.eval(pl.element().struct.field("is_error"))
    return [
        number if name == "tool_calls" and "tool_calls" not in own else pl.col(name)
        for name in schema.TURNS.polars
        if name in names
    ]


def _look(
    batches: Sequence[Batch], rules: Sequence[NoiseRule], room: int
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return what decides of all rows, and all rows unless they are too many."""
    none = pl.DataFrame(schema=schema.TURNS.polars)
    columns = key_columns(rules)
    looked_at, held = [none.select(columns)], [none]
    for batch in batches:
        if room < 0:
            looked_at.append(batch.read(*columns))
            continue
        held.append(batch.read())
        looked_at.append(held[-1].select(columns))
        room -= int(held[-1].estimated_size())
        if room < 0:
            held.clear()
    narrow = pl.concat(looked_at).with_row_index("row")
    return narrow, pl.concat(held) if held else None


def _marked(rows: pl.DataFrame, rules: Sequence[NoiseRule]) -> pl.DataFrame:
    """Return the turns in table order, with `noise`."""
    turns = ordering.order_turns(rows.select("row", *ordering.KEYS))
    looked_at = _decided(rows.drop("row")[turns["row"]], turns)
    marked = noise.mark(looked_at.lazy(), rules).select("noise").collect()
    return turns.with_columns(marked["noise"])


def _decided(rows: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows as their turns have it that stand at the same places."""
    return rows.with_columns(turns[name] for name in ordering.RESOLVED)


def _slice(size: int) -> pl.Expr:
    weight = pl.col("chars").cast(pl.Int64) + _TURN
    return ((weight.cum_sum() - weight) // size).rle_id().alias("slice")


def _from_memory(rows: pl.DataFrame, turns: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for part in turns.partition_by("slice", maintain_order=True):
        yield _finished(rows[part["row"]], part)


def _from_disk(
    batches: Sequence[Batch], turns: pl.DataFrame, folder: Path
) -> Iterator[pl.DataFrame]:
    placed = turns.select("row", "slice").with_row_index("place")
    with _waiting_room(folder) as room:
        _distribute(batches, placed, room)
        for part in turns.partition_by("slice", maintain_order=True):
            waiting = sorted(room.glob(f"{part['slice'][0]}-*"))
            rows = pl.concat([_taken(path) for path in waiting])
            yield _finished(rows.sort("place").drop("place"), part)


@contextmanager
def _waiting_room(folder: Path) -> Iterator[Path]:
    """Make a folder, and remove it.

    Raises:
        Stop: the disk does not take what is put there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".slices.", suffix=".tmp", dir=folder) as name:
            yield Path(name)
    except OSError as error:
        raise write_error(folder, error) from error


def _taken(path: Path) -> pl.DataFrame:
    """Read a file, and remove it."""
    # From memory: a file that polars maps cannot be removed everywhere.
    rows = pl.read_ipc(path.read_bytes())
    path.unlink()
    return rows


def _distribute(batches: Sequence[Batch], placed: pl.DataFrame, folder: Path) -> None:
    """Write the rows that are turns to files of their slices, with their `place`."""
    before = 0
    for number, batch in enumerate(batches):
        rows = batch.reread()
        here = placed.filter(pl.col("row").is_between(before, before + rows.height, closed="left"))
        turns = rows[here["row"] - before].with_columns(here["place"])
        at = 0
        for length, slice_ in here["slice"].rle().struct.unnest().iter_rows():
            path = folder / f"{slice_}-{number}"
            turns[at : at + length].write_ipc(path, compression="uncompressed")
            at += length
        before += rows.height


def _finished(rows: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    return _decided(rows, turns).with_columns(turns["noise"])
