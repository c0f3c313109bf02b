"""Yield the turns of a group in partitions, in table order, without loading a large group at once.

The key columns of all rows are read first, and the turns are ordered and marked. The full rows are
read next: they stay in memory if they fit its limit; otherwise each file is read once and its rows
are spilled to disk, by partition. Partitions depend on the turns alone, not on how the rows arrive.

A prompt of an agent's history that a transcript of it holds too is a copy of its turn. The history
has no id of a prompt. A prompt is the same if it has the same text, as a prompt or as what was
typed while the agent worked, in the same session or at about the same time; or if it was sent in
the same session within seconds and its text says that the transcript has another: what was pasted,
or the text of a command. What a transcript holds once is the same as one prompt of the history: the
nearest. Others stay turns.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl

from turnetl import noise
from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.episodes import order as ordering
from turnetl.episodes.filter_report import COUNTED, FilteredGroup, group_report
from turnetl.formats import CODEX_HISTORY, PROMPT_HISTORIES
from turnetl.lake import Batch, Lake, replace_episodes_metadata, temporary_folder, write_error
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
    with_subagents: Collection[str] = (),
    max_chars: int = PARTITION_CHARS,
    memory_limit: int = MEMORY_LIMIT,
) -> Generator[pl.DataFrame]:
    """Yield each turn of a group once, in table order, marked by the rules.

    The columns are those of `schema.TURNS`, `copies`, `variants` and `noise`. Close the generator
    if you stop early: it then deletes its files from the folder.

    Args:
        folder: receives spilled rows if they exceed the memory limit.
        with_subagents: ids of the turns for which subagents worked.
    """
    keys, rows = _read(batches, rules, memory_limit)
    keys = merge_recorded(
        keys, lambda: read_prompts(batches) if rows is None else rows.select(prompt_columns())
    )
    turns = _marked(keys, rules, with_subagents).with_columns(partition_numbers(max_chars))
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


def read_prompts(batches: Sequence[Batch]) -> pl.DataFrame:
    """Return `prompt_columns` of all rows, which only groups with a history of prompts need."""
    return pl.concat([batch.read(*prompt_columns()) for batch in batches])


def _marked(
    keys: pl.DataFrame, rules: Sequence[NoiseRule], with_subagents: Collection[str]
) -> pl.DataFrame:
    turns = ordering.order_turns(keys.select("row", *ordering.KEYS))
    resolved = _resolved(keys.drop("row")[turns["row"]], turns)
    if with_subagents:
        has_subagents = pl.col("turn_id").is_in(list(with_subagents))
        resolved = resolved.with_columns(has_subagents.alias(noise.HAS_SUBAGENTS))
    marked = noise.mark(resolved.lazy(), rules).select("noise").collect()
    return turns.with_columns(marked["noise"])


def _resolved(rows: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
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


_OF_CODEX = pl.col("format").is_in(["codex", CODEX_HISTORY])
_TRANSCRIPTS = pl.col("format").is_in(["claude_code", "claude_web", "codex"])
_IS_HISTORY = pl.col("format").is_in(PROMPT_HISTORIES)
_NEAR = timedelta(minutes=5)
"""Between a prompt in the history and in a transcript of a session of another name."""
_SAME_MOMENT = timedelta(seconds=2)
_LONGEST = timedelta(days=31)
"""Of a turn in which a prompt without a session is looked up."""
_HOUR = 3_600
_OTHER_TEXT = r"\A/|\[(?:Pasted text|\.\.\.Truncated text|Image) #\d"
"""Of a prompt that the transcript may hold with another text."""


def prompt_columns() -> list[pl.Expr]:
    """Return the columns of `schema.TURNS` from which prompts are compared."""
    texts = pl.concat_list(pl.col("user_text"), pl.col("steering"), pl.col("user_answers"))
    words = pl.element().str.replace_all(r"\s+", " ").str.strip_chars()
    # Another seed: no prompt of one agent is that of another.
    of_codex = pl.when(_OF_CODEX).then(texts.list.eval(words.hash(seed=1)))
    prompts = of_codex.when(_TRANSCRIPTS | _IS_HISTORY).then(texts.list.eval(words.hash()))
    return [
        prompts.alias("prompts"),
        pl.col("ended_at").alias("prompts_ended_at"),
        pl.col("user_text").str.contains(_OTHER_TEXT).alias("may_differ"),
    ]


def merge_recorded(keys: pl.DataFrame, prompts: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Give prompts of the history that a transcript holds the id and the session of its turn.

    Both frames are of the same rows: `order.KEYS` and `prompt_columns`.
    """
    if not keys.select(_IS_HISTORY.any()).item():
        return keys
    names = ("turn_id", "session_id", "format", "started_at")
    rows = pl.concat([keys.select(*names).with_row_index("position"), prompts()], how="horizontal")
    typed = rows.filter(_IS_HISTORY)
    recorded = rows.filter(_TRANSCRIPTS).select(
        pl.col("turn_id").alias("recorded_turn"),
        pl.col("session_id").alias("recorded_session"),
        pl.col("started_at").alias("from"),
        pl.coalesce("prompts_ended_at", "started_at").alias("to"),
        "prompts",
        pl.int_ranges(pl.col("prompts").list.len()).alias("place"),
    )
    texts = recorded.explode("prompts", "place")
    pairs = [_same_session(typed, texts), _same_time(typed, texts), _same_moment(typed, recorded)]
    matches = _matches(pl.concat(pairs))
    return (
        keys.with_row_index("position")
        .join(matches, on="position", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("recorded_turn", "turn_id").alias("turn_id"),
            pl.coalesce("recorded_session", "session_id").alias("session_id"),
            pl.when(pl.col("recorded_turn").is_null())
            .then("parent_session_id")
            .alias("parent_session_id"),
        )
        .select(keys.columns)
    )


def _same_session(typed: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    prompts = typed.with_columns(pl.col("prompts").list.first())
    return _pairs(
        prompts.join(
            texts.with_columns(pl.col("recorded_session").alias("session_id")),
            on=["prompts", "session_id"],
        )
    )


def _same_time(typed: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the same text at about the same time.

    By hour: a year has many prompts with the text "continue".
    """
    # What was typed while the agent worked may be anywhere in the turn.
    last = pl.min_horizontal("to", pl.col("from") + _LONGEST)
    end = pl.when(pl.col("place") == 0).then("from").otherwise(last) + _NEAR
    hours = pl.int_ranges(_hour(pl.col("from") - _NEAR), _hour(end) + 1)
    pairs = typed.with_columns(
        pl.col("prompts").list.first(), _hour(pl.col("started_at")).alias("hour")
    ).join(texts.with_columns(hours.alias("hour")).explode("hour"), on=["prompts", "hour"])
    near = pl.col("started_at").is_between(pl.col("from") - _NEAR, end)
    return _pairs(pairs.filter(near))


def _same_moment(typed: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of prompts of one moment and session whose texts may differ."""
    first = recorded.with_columns(
        pl.col("prompts").list.first(),
        pl.lit(0, pl.Int64).alias("place"),
        pl.col("recorded_session").alias("session_id"),
    )
    pairs = typed.filter("may_differ").drop("prompts").join(first, on="session_id")
    return _pairs(pairs.filter((_distance() <= _SAME_MOMENT).fill_null(value=False)))


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        (pl.col("session_id") == pl.col("recorded_session")).alias("same_session"),
        _distance().alias("distance"),
        "position",
        "recorded_turn",
        "recorded_session",
        "from",
        "prompts",
        "place",
    )


def _matches(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one pair for a prompt of the history: of the same session, then the nearest.

    No two prompts have a pair with the same prompt of a transcript, of which other transcripts may
    hold copies: with its time.
    """
    matched: dict[int, tuple[str, str]] = {}
    taken: set[tuple[object, ...]] = set()
    order = pairs.columns
    ordered = pairs.sort(order, descending=[True] + [False] * (len(order) - 1), nulls_last=True)
    for _, _, position, turn, session, start, text, place in ordered.iter_rows():
        prompt = (start or turn, text, place)
        if position not in matched and prompt not in taken:
            matched[position] = turn, session
            taken.add(prompt)
    rows = [(position, *match) for position, match in matched.items()]
    columns = ("position", "recorded_turn", "recorded_session")
    return pl.DataFrame(rows, {one: pairs.schema[one] for one in columns}, orient="row")


def _hour(time: pl.Expr) -> pl.Expr:
    return time.dt.epoch("s") // _HOUR


def _distance() -> pl.Expr:
    return (pl.col("started_at") - pl.col("from")).abs()


def remark_table(
    lake: Lake,
    group: GroupId,
    rules: tuple[NoiseRule, ...],
    stored: Mapping[str, str],
    metadata: Callable[[FilteredGroup], Mapping[str, str]],
    *,
    unjoined_archives: int = 0,
) -> FilteredGroup:
    """Replace the table of a group by the same with the marks of other rules; return its report.

    No rule changes a text, so that none is rendered. If no mark changes, the rows are copied as
    they are. `stored` is the metadata of the table, `metadata` returns the new one.
    """
    rows = lake.scan_episodes(group)
    counted = [pl.col(name).alias(f"counted_{name}") for name in COUNTED]
    with lake.reading_episodes(group):
        has_subagents = (pl.col("subagents").list.len() > 0).fill_null(value=False)
        counted.append(has_subagents.alias(noise.HAS_SUBAGENTS))
        keys = rows.select(*key_columns(rules), *counted, "copies", "variants").collect()
    marks = _marks(keys, rules)
    columns = keys.select(pl.col(f"counted_{name}").alias(name) for name in COUNTED)
    report = replace(
        group_report(group, columns.with_columns(marks)), unjoined_archives=unjoined_archives
    )
    changed = metadata(report)
    if marks.equals(columns["noise"], null_equal=True) and replace_episodes_metadata(
        lake, group, stored, changed
    ):
        return report
    lake.verify_episodes(group)
    slices = _slices(lake, group, rows, keys.select("chars", marks))
    lake.write_episodes(group, slices, lambda: changed)
    return report


def _marks(keys: pl.DataFrame, rules: tuple[NoiseRule, ...]) -> pl.Series:
    marked = noise.mark(keys.lazy(), rules)
    # The same as `EMPTY.condition`, without the texts.
    is_empty = pl.when(pl.col("counted_chars_after") == 0).then(pl.lit(noise.EMPTY.name))
    return marked.select(pl.coalesce("noise", is_empty).alias("noise")).collect()["noise"]


def _slices(
    lake: Lake, group: GroupId, rows: pl.LazyFrame, marks: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Yield the rows with their new marks, in the partitions in which they were written."""
    first = 0
    numbers = marks.select(partition_numbers())["partition"]
    for length in numbers.rle().struct.field("len"):
        with lake.reading_episodes(group):
            part = rows.slice(first, length).collect().rechunk()
        yield part.with_columns(marks["noise"].slice(first, length))
        first += length
