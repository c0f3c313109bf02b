"""Yield the turns of a group in partitions, in table order, without loading a large group at once.

The key columns of all rows are read first, and the turns are ordered and marked. The full rows are
read next: they stay in memory if they fit its limit; otherwise each file is read once and its rows
are spilled to disk, by partition. Partitions depend on the turns alone, not on how the rows arrive.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from turnetl import noise
from turnetl.base import schema
from turnetl.episodes import order as ordering
from turnetl.episodes.recorded_prompts import merge_recorded, prompt_columns
from turnetl.lake import Batch, temporary_folder, write_error
from turnetl.noise import NoiseRule

PARTITION_CHARS = 64 << 20
"""Maximum characters of a partition, unless a single turn has more."""
_TURN_OVERHEAD = 1024
"""Characters added to each turn's own, to bound the number of short turns in a partition."""
MEMORY_LIMIT = 512 << 20
"""Maximum bytes of rows that are held in memory until they are ordered."""


def partition(
    batches: Sequence[Batch],
    rules: Sequence[NoiseRule],
    folder: Path,
    *,
    max_chars: int = PARTITION_CHARS,
    memory_limit: int = MEMORY_LIMIT,
) -> Generator[pl.DataFrame]:
    """Yield each turn once, in table order.

    The columns are those of `schema.TURNS`, `copies`, `variants` and `noise`. Close the
    generator if you stop early: it then deletes its files from the folder.

    Args:
        batches: rows of `schema.TURNS`, of one group.
        rules: by precedence: the first that matches gives the turn its rule name.
        folder: receives spilled rows if they exceed the memory limit.
        max_chars: maximum characters of a partition.
        memory_limit: bytes of rows that may be held in memory.
    """
    keys, rows = _read(batches, rules, memory_limit)
    keys = merge_recorded(keys, lambda: _prompts(batches, rows))
    turns = _marked(keys, rules).with_columns(partition_numbers(max_chars))
    del keys
    if rows is None:
        yield from _from_disk(batches, turns, folder)
    else:
        yield from _from_memory(rows, turns)


def key_columns(rules: Sequence[NoiseRule]) -> list[pl.Expr]:
    """Return the columns that determine identity, order and noise.

    The calls' content is included only if a rule of the user reads it; otherwise their names.
    """
    names = {*ordering.KEYS, *noise.required_columns(rules)}
    user_rules = [rule for rule in rules if rule.definition]
    searched = {name for rule in user_rules for name in rule.condition.meta.root_names()}
    name_only = pl.struct(pl.element().struct.field("name"))
    named_calls = pl.col("tool_calls").list.eval(name_only)
    return [
        named_calls if name == "tool_calls" and "tool_calls" not in searched else pl.col(name)
        for name in schema.TURNS.polars
        if name in names
    ]


def partition_numbers(max_chars: int = PARTITION_CHARS) -> pl.Expr:
    """Return `partition` of the rows of a whole group in table order, by their `chars`."""
    weight = pl.col("chars").cast(pl.Int64) + _TURN_OVERHEAD
    return ((weight.cum_sum() - weight) // max_chars).rle_id().alias("partition")


def _read(
    batches: Sequence[Batch], rules: Sequence[NoiseRule], memory_limit: int
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the key columns of all rows, and the full rows unless they exceed the limit."""
    none = pl.DataFrame(schema=schema.TURNS.polars)
    columns = key_columns(rules)
    keys, rows = [none.select(columns)], [none]
    left = memory_limit
    for batch in batches:
        if left < 0:
            keys.append(batch.read(*columns))
            continue
        rows.append(batch.read())
        keys.append(rows[-1].select(columns))
        left -= int(rows[-1].estimated_size())
        if left < 0:
            rows.clear()
    return pl.concat(keys).with_row_index("row"), pl.concat(rows) if rows else None


def _prompts(batches: Sequence[Batch], rows: pl.DataFrame | None) -> pl.DataFrame:
    """Return the prompts of all rows, which only groups with a history of prompts need."""
    if rows is not None:
        return rows.select(prompt_columns())
    return pl.concat([batch.read(*prompt_columns()) for batch in batches])


def _marked(keys: pl.DataFrame, rules: Sequence[NoiseRule]) -> pl.DataFrame:
    """Return the turns in table order, with `noise`."""
    turns = ordering.order_turns(keys.select("row", *ordering.KEYS))
    resolved = _resolved(keys.drop("row")[turns["row"]], turns)
    marked = noise.mark(resolved.lazy(), rules).select("noise").collect()
    return turns.with_columns(marked["noise"])


def _resolved(rows: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the resolved columns of the turns at the same positions."""
    return rows.with_columns(turns[name] for name in ordering.RESOLVED)


def _from_memory(rows: pl.DataFrame, turns: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for part in turns.partition_by("partition", maintain_order=True):
        yield _with_noise(rows[part["row"]], part)


def _from_disk(
    batches: Sequence[Batch], turns: pl.DataFrame, folder: Path
) -> Iterator[pl.DataFrame]:
    positions = turns.select("row", "partition").with_row_index("position")
    with _spill_folder(folder) as spilled:
        _spill(batches, positions, spilled)
        for part in turns.partition_by("partition", maintain_order=True):
            paths = sorted(spilled.glob(f"{part['partition'][0]}-*"))
            rows = pl.concat([_read_and_delete(path) for path in paths])
            yield _with_noise(rows.sort("position").drop("position"), part)


@contextmanager
def _spill_folder(folder: Path) -> Iterator[Path]:
    """Create a temporary folder, and delete it with its files.

    Raises:
        Fatal: the folder or a file in it cannot be written.
    """
    try:
        # The parent of the folder is the lake.
        with temporary_folder(folder, folder.parent) as created:
            yield created
    except OSError as error:
        raise write_error(folder, error) from error


def _read_and_delete(path: Path) -> pl.DataFrame:
    # From memory: some systems cannot delete a file that polars has mapped.
    rows = pl.read_ipc(path.read_bytes())
    path.unlink()
    return rows


def _spill(batches: Sequence[Batch], positions: pl.DataFrame, folder: Path) -> None:
    """Write the rows that are turns to files by partition and batch, with their `position`."""
    before = 0
    for number, batch in enumerate(batches):
        rows = batch.reread()
        in_batch = pl.col("row").is_between(before, before + rows.height, closed="left")
        selected = positions.filter(in_batch)
        turns = rows[selected["row"] - before].with_columns(selected["position"])
        start = 0
        for length, partition_ in selected["partition"].rle().struct.unnest().iter_rows():
            path = folder / f"{partition_}-{number}"
            turns[start : start + length].write_ipc(path, compression="uncompressed")
            start += length
        before += rows.height


def _with_noise(rows: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    return _resolved(rows, turns).with_columns(turns["noise"])
