"""Export: the selected turns of the lake, with what the graph states about them, as files."""

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import polars as pl

from turnetl import wiring
from turnetl.base import schema
from turnetl.base.batched import batched
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.episodes.subagents import of_same_turns
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.lake import Lake, turn_from_row
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.opened_items import open_index
from turnetl.pipeline.search import check_conditions, find_turns
from turnetl.redact import Redactor
from turnetl.retrieval.hits import held
from turnetl.settings import Settings
from turnetl.transfer import file_formats
from turnetl.transfer.atif import to_atif
from turnetl.transfer.compact import first_copies, to_compact, without_copies
from turnetl.transfer.content import ExportContent, ExportedTurn, ordered
from turnetl.transfer.markdown import to_markdown
from turnetl.transfer.output import WrittenFiles, write_file, write_folder
from turnetl.transfer.redaction import redacted_content, redacted_machine
from turnetl.transfer.transfer_report import HOLDS_NOISE, ExportFormat, ExportReport

_FACT_TURNS = 2_000
"""Turns whose facts are read together."""
_SINGLE_FILES = {
    ExportFormat.JSONL: (".jsonl", file_formats.JSONL_MARK, file_formats.to_jsonl),
    ExportFormat.GRAPHML: (".graphml", file_formats.GRAPHML_MARK, file_formats.to_graphml),
    ExportFormat.CYPHER: (".cypher", file_formats.CYPHER_MARK, file_formats.to_cypher),
}
"""Of the formats that are one file, with the beginning and the function of each."""
_FOLDERS = {
    ExportFormat.MARKDOWN: to_markdown,
    ExportFormat.ATIF: to_atif,
    ExportFormat.COMPACT: to_compact,
}
"""Of the formats that are a folder."""
_NAME = pl.element().struct.field("name").str.to_lowercase()
_CALLS = pl.element().struct.field("tool_calls").explode().struct
_TOOLS = pl.col("tool_calls").list.eval(_NAME)
_TOOLS_OF_RUNS = pl.col("subagents").list.eval(_CALLS.field("name").str.to_lowercase())


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What is exported, and to where."""

    format: ExportFormat
    output: Path
    """A folder, or a file for the formats of one file."""
    query: str = ""
    """Only turns that match it, as a search finds them; empty: all."""
    selection: Selection = Selection()  # noqa: RUF009 - a frozen value
    limit: int = 100
    """Turns that match the query."""


@dataclass(frozen=True, slots=True)
class _Stated:
    """What the graph states."""

    groups: Sequence[GroupId]
    """The selected groups, also those that only the graph holds."""
    in_graph: AbstractSet[str] = frozenset()
    """The selected turns that the graph holds."""
    needs_graph: bool = False
    """Whether only these turns meet the conditions."""
    knowledge: ExportContent = ExportContent(())  # noqa: RUF009 - a frozen value
    """Entities and facts, in no order."""
    unread: str | None = None


async def export(
    settings: Settings,
    options: ExportOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> ExportReport:
    """Export the turns of the lake that meet the conditions, redacted again."""
    lake = wiring.lake(settings)
    existing = groups_with_turns(settings, lake)
    stated = await _stated(settings, options, clock, existing, progress)
    groups = [group for group in stated.groups if group in existing]
    turn_ids = stated.in_graph if stated.needs_graph else None
    where = condition(options.selection, turn_ids, of_episodes=True)
    turns = selected_turns(lake, groups, where)
    progress(ProgressUpdate("export", "steps", 1, 2))
    exported = {one.turn.turn_id for one in turns}
    content = ordered(replace(stated.knowledge, turns=turns)).of_turns(exported)
    if options.format is ExportFormat.COMPACT:
        content = without_copies(content, first_copies(content.turns))
    run = _Export(options, wiring.redactor(settings, stores=False), content)
    if options.format is ExportFormat.PARQUET:
        rows = condition(options.selection, turn_ids)
        if rows is not None:
            rows |= _rows_of(lake, groups, exported)
        report = run.write_turns_files(lake, groups, rows)
    else:
        report = run.write_content()
    progress(ProgressUpdate("export", "steps", 2, 2))
    missing = len(stated.in_graph - exported)
    return replace(report, unread=stated.unread, only_in_graph=missing)


@dataclass(frozen=True, slots=True)
class _Export:
    options: ExportOptions
    redactor: Redactor
    content: ExportContent

    def write_content(self) -> ExportReport:
        content = self.content
        if self.options.format not in HOLDS_NOISE:
            content = content.without_noise()
        clean, redactions = redacted_content(content, self.redactor)
        written = _write(clean, self.options)
        return self._report(written, len(clean.turns), redactions)

    def write_turns_files(
        self, lake: Lake, groups: Sequence[GroupId], where: pl.Expr | None
    ) -> ExportReport:
        """Redact the turns files, entities and facts, and write them as Parquet."""
        from turnetl.transfer.parquet import to_parquet  # noqa: PLC0415 - pyarrow

        graph = ExportContent((), self.content.entities, self.content.facts)
        clean, in_graph = redacted_content(graph, self.redactor)
        made = to_parquet(lake, groups, where, clean, self.redactor)
        output, format_name = self.options.output, self.options.format
        machine = redacted_machine(wiring.machine_name(), self.redactor)
        written = write_folder(output, format_name, made.files, machine)
        report = self._report(written, made.turns, made.redactions + in_graph)
        return replace(report, subagents_left_out=made.subagents_left_out)

    def _report(self, written: WrittenFiles, turns: int, redactions: int) -> ExportReport:
        is_file = self.options.format in _SINGLE_FILES
        return ExportReport(
            format=self.options.format,
            output=_file(self.options) if is_file else self.options.output,
            turns=turns,
            sessions=len(self.content.sessions),
            entities=len(self.content.entities),
            facts=len(self.content.facts),
            noise=sum(one.noise is not None for one in self.content.turns),
            redactions=redactions,
            redacts_persons=self.redactor.redacts_persons,
            files=written.files,
            bytes=written.bytes,
            changed=written.changed,
            removed=written.removed,
        )


def _write(content: ExportContent, options: ExportOptions) -> WrittenFiles:
    if (to_files := _FOLDERS.get(options.format)) is not None:
        return write_folder(options.output, options.format, to_files(content))
    _, mark, encode = _SINGLE_FILES[options.format]
    return write_file(_file(options), mark, encode(content))


def _file(options: ExportOptions) -> Path:
    """Return the file of a format of one file; in a folder it is `turnetl` with its suffix."""
    if options.output.is_dir():
        suffix, _, _ = _SINGLE_FILES[options.format]
        return options.output / f"turnetl{suffix}"
    return options.output


def condition(
    selection: Selection, turn_ids: Collection[str] | None, *, of_episodes: bool = False
) -> pl.Expr | None:
    """Return the condition on rows of `schema.TURNS`, or of `schema.EPISODES`; None: there is none.

    Conditions on facts are left out: `turn_ids` meet them; None: all turns do.
    """
    times = pl.col("started_at")
    met = list[pl.Expr]()
    if selection.since is not None:
        met.append(times >= selection.since)
    met += [times < end for end in (selection.until, selection.as_of) if end is not None]
    if selection.session is not None:
        met.append(pl.col("session_id").str.starts_with(selection.session))
    if selection.format is not None:
        met.append(pl.col("format") == selection.format)
    if selection.branch is not None:
        met.append(pl.col("git_branch") == selection.branch)
    if selection.tool is not None:
        columns = (_TOOLS, _TOOLS_OF_RUNS) if of_episodes else (_TOOLS,)
        met.append(pl.any_horizontal(one.list.contains(selection.tool.lower()) for one in columns))
    if turn_ids is not None:
        met.append(pl.col("turn_id").is_in(sorted(turn_ids)))
    return pl.all_horizontal(*(one.fill_null(value=False) for one in met)) if met else None


def selected_turns(
    lake: Lake, groups: Iterable[GroupId], where: pl.Expr | None
) -> list[ExportedTurn]:
    """Return the turns of the episodes tables of these groups that meet a condition, each once."""
    of_turn = (column.name for column in schema.TURN_COLUMNS)
    columns = (*of_turn, "subagents", "noise", "copies")
    turns = []
    for group in groups:
        lake.verify_episodes(group)
        with lake.reading_episodes(group):
            table = lake.scan_episodes(group)
            met = table if where is None else table.filter(where)
            rows = met.select(columns).collect()
        turns += [
            ExportedTurn(turn_from_row(row), row["noise"], row["copies"])
            for row in rows.iter_rows(named=True)
        ]
    return turns


def _rows_of(lake: Lake, groups: Iterable[GroupId], turns: Collection[str]) -> pl.Expr:
    """Return the condition on rows of `schema.TURNS` that they are these turns, or runs for them.

    The columns of a run are its own: it has no branch, for instance.
    """
    same = {row for group in groups for row in of_same_turns(lake, group, turns)}
    is_run = ~schema.IS_TURN & pl.col("turn_id").is_in(sorted(same))
    return is_run | pl.col("turn_id").is_in(sorted(turns))


def groups_with_turns(settings: Settings, lake: Lake) -> list[GroupId]:
    """Return the groups of the lake, sorted; raise BadUsage if there is none."""
    if groups := lake.groups():
        return groups
    raise BadUsage(
        f"the lake `{settings.lake}` holds no turns: run `turnetl backfill`, or name "
        "another lake with --lake"
    )


async def graph_content(
    settings: Settings, clock: Clock, groups: Sequence[GroupId], progress: Progress
) -> tuple[ExportContent, str | None]:
    """Return all entities and facts of the graph, and why they are missing or old, if they are."""
    options = ExportOptions(ExportFormat.PARQUET, Path())
    stated = await _stated(settings, options, clock, groups, progress)
    return stated.knowledge, stated.unread


async def _stated(
    settings: Settings,
    options: ExportOptions,
    clock: Clock,
    in_lake: Sequence[GroupId],
    progress: Progress,
) -> _Stated:
    """Return what the graph states about the turns; nothing without a graph that is not needed."""
    selection = options.selection
    needs_graph = bool(options.query.strip()) or selection.selects_facts
    if not needs_graph and (missing := wiring.missing_graph(settings)) is not None:
        groups = select_groups(in_lake, selection.groups)
        return _Stated(groups, unread=f"there is no graph at `{missing}`: no entities and facts")
    async with open_index(settings, clock, progress) as opened:
        index = opened.index
        indexed = {one.group_id for one in index.groups()}
        groups = select_groups(sorted({*in_lake, *indexed}), selection.groups)
        within = replace(selection, groups=tuple(group for group in groups if group in indexed))
        if not within.groups:
            return _Stated(groups, needs_graph=needs_graph, unread=opened.unread)
        keys = await _turn_keys(opened, options, clock, within)
        turn_ids = index.lookup().turn_ids(keys)
        knowledge = _knowledge(index, keys, turn_ids, selection.as_of)
        return _Stated(groups, turn_ids, needs_graph, knowledge, opened.unread)


async def _turn_keys(
    opened: OpenIndex, options: ExportOptions, clock: Clock, within: Selection
) -> list[int]:
    """Return the turns of the graph that match the query, if there is one, and the conditions."""
    index = opened.index
    if options.query.strip():
        hits = await find_turns(opened, options.query, clock, selection=within, limit=options.limit)
        keys = (index.lookup().turn_key(hit.turn_id) for hit in hits.hits)
        return [key for key in keys if key is not None]
    selected = [int(key) for key in index.select(within)]
    if not selected and within.selects_facts:
        check_conditions(index, within)
    return selected


def _knowledge(
    index: PersistentIndex,
    keys: Sequence[int],
    turn_ids: AbstractSet[TurnId],
    as_of: datetime | None,
) -> ExportContent:
    """Return the entities and facts of these turns as they held at a time; None: all facts."""
    entities: dict[str, Entity] = {}
    facts: dict[str, Fact] = {}
    mentioned: dict[int, list[str]] = {}
    lookup = index.lookup()
    for batch in batched(keys, _FACT_TURNS):
        for key, without_fact in lookup.entities_without_fact(batch).items():
            entities |= {one.uuid: one for one in without_fact}
            mentioned[key] = [one.uuid for one in without_fact]
        for of_turn in index.facts(batch).values():
            for indexed in of_turn:
                if held(indexed.fact, as_of):
                    facts[indexed.fact.uuid] = indexed.fact
                    entities[indexed.source.uuid] = indexed.source
                    entities[indexed.target.uuid] = indexed.target
    turns = lookup.turn_keys(turn_ids)
    named = {TurnId(turn): mentioned[key] for turn, key in turns.items() if mentioned.get(key)}
    return ExportContent((), list(entities.values()), list(facts.values()), named)
