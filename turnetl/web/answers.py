"""What each page shows, read from the index that stays open."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import polars as pl

from turnetl.activity_report.contents import Period, activity
from turnetl.activity_report.model import Activity
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.ids import is_shadow
from turnetl.base.model import Entity, GroupId
from turnetl.base.relations import DECISIONS, FAILED_WITH
from turnetl.index.conditions import Selection
from turnetl.index.index_report import IndexedGroup
from turnetl.index.lookup import Overview, StatedEntity
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import IndexedFact
from turnetl.pipeline.history import find_fixes_or_turns, find_timeline, group_ids
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.index_reader import IndexReader
from turnetl.pipeline.opened_items import (
    IndexAnswer,
    archive_lines,
    archived_turn,
    open_item,
    with_lake_text,
)
from turnetl.pipeline.search import find_turns
from turnetl.report_pages.activity_page import activity_chart
from turnetl.retrieval.details import Details, TurnDetails, entity_details
from turnetl.retrieval.items import FILE_LABEL, find_entity
from turnetl.retrieval.search import CombinedHits
from turnetl.retrieval.turn_summary import timeline
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.entities import PAGE_SIZE as ENTITY_TURNS
from turnetl.web.routes.entities import EntityPage, FixPage, entity_page, fix_page
from turnetl.web.routes.overview import ListedGroup, ListedLabel, OverviewPage, counted_entities
from turnetl.web.routes.references import group_link, linked_fact, listed_turn
from turnetl.web.routes.search import MAX_PAGES, SearchPage, search_limit, search_page
from turnetl.web.routes.turns import PAGE_SIZE as TIMELINE_TURNS
from turnetl.web.routes.turns import LinesPage, TimelinePage, lines_page, timeline_page

T = TypeVar("T")

_MAX_ERRORS = 10


@dataclass(frozen=True, slots=True)
class OpenedItem:
    """What an id leads to."""

    details: Details
    facts: tuple[IndexedFact, ...] = ()
    """Of a turn, each with its entities."""


class PageAnswers:
    """Answers the questions of the pages. Raises as the commands of the same names."""

    def __init__(self, reader: IndexReader, clock: Clock, directory: Path) -> None:
        self._reader = reader
        self._clock = clock
        self._directory = directory
        self._overview: tuple[Sequence[IndexedGroup], OverviewPage] | None = None
        """The first page, and the state of the groups that it was made of."""

    async def overview(self) -> IndexAnswer[OverviewPage]:
        def read(index: PersistentIndex) -> OverviewPage:
            state = index.status().groups
            if self._overview is None or self._overview[0] != state:
                self._overview = state, index_overview(index)
            return self._overview[1]

        return await self._read(read)

    async def groups(self) -> IndexAnswer[tuple[str, ...]]:
        return await self._read(
            lambda index: tuple(group.group_id for group in listed_groups(index))
        )

    async def search(self, form: PageForm) -> IndexAnswer[SearchPage]:
        selection = form.selection(self._clock())
        if form.page > MAX_PAGES:
            raise BadUsage(
                f"a search has at most {MAX_PAGES} pages: use more filters, or the timeline"
            )

        async def read(opened: OpenIndex) -> SearchPage:
            if form.is_empty:
                return search_page(form, CombinedHits((), 0))
            found = await find_turns(
                opened,
                form.query,
                self._clock,
                selection=selection,
                order=form.order,
                limit=search_limit(form),
            )
            return search_page(form, found)

        return await self._reader.read(read)

    async def indexed(self, turn_ids: Collection[str]) -> IndexAnswer[frozenset[str]]:
        return await self._read(lambda index: frozenset(index.lookup().turn_keys(turn_ids)))

    async def timeline(self, form: PageForm) -> IndexAnswer[TimelinePage]:
        selection = form.selection(self._clock())
        skip = (form.page - 1) * TIMELINE_TURNS

        return await self._read(
            lambda index: timeline_page(
                form, find_timeline(index, selection, limit=TIMELINE_TURNS, skip=skip)
            )
        )

    async def item(self, form: PageForm) -> IndexAnswer[OpenedItem]:
        name = form.value("id")

        def read(index: PersistentIndex) -> OpenedItem:
            found = open_item(index, name, self._directory, self._reader.settings, limit=1)
            if not isinstance(found, TurnDetails):
                return OpenedItem(found)
            key = index.lookup().turn_key(found.summary.receipt.turn_id)
            facts = index.facts([] if key is None else [key])
            return OpenedItem(found, tuple(facts.get(key or 0, ())))

        answer = await self._read(read)
        item = answer.value
        found = with_lake_text(item.details, self._reader.settings)
        return replace(answer, value=replace(item, details=found))

    async def entity(self, form: PageForm) -> IndexAnswer[EntityPage]:
        """Return the page of the entity that the form names: by id, by name, or by path."""
        skip = (form.page - 1) * ENTITY_TURNS
        page = forms.FILE if form.value("path") else forms.ENTITY

        return await self._read(
            lambda index: entity_page(
                page,
                form,
                entity_details(index, _entity(index, form), limit=ENTITY_TURNS, skip=skip),
            )
        )

    async def fixes(self, form: PageForm) -> IndexAnswer[FixPage]:
        """Return the errors that match the form's query, else those of most turns."""

        async def read(opened: OpenIndex) -> FixPage:
            if not form.query:
                groups = group_ids(opened.index, form.groups)
                return fix_page((), frequent_errors(opened.index, groups))
            found = await find_fixes_or_turns(
                opened, form.query, groups=form.groups, limit=_MAX_ERRORS
            )
            return fix_page(found.errors)

        return await self._reader.read(read)

    async def lines(self, form: PageForm) -> IndexAnswer[LinesPage]:
        """Return the lines of a turn in its archive, without secrets."""
        name = form.value("id")

        answer = await self._read(
            lambda index: archived_turn(index, name, self._directory, self._reader.settings)
        )
        # The rules for secrets take a second to load, which other requests should not wait for.
        found = await asyncio.to_thread(archive_lines, answer.value, self._reader.settings)
        return IndexAnswer(lines_page(found), answer.caught_up_at, answer.unread)

    async def _read(self, read: Callable[[PersistentIndex], T]) -> IndexAnswer[T]:
        async def work(opened: OpenIndex) -> T:
            return read(opened.index)

        return await self._reader.read(work)


def _entity(index: PersistentIndex, form: PageForm) -> Entity:
    groups = group_ids(index, form.groups)
    if path := form.value("path"):
        return find_entity(index.lookup(), path, FILE_LABEL, groups)
    # A link has the complete id: no entity that is named so takes its place.
    if exact := index.lookup().entity(form.value("id")):
        return exact
    name = form.value("id") or form.value("name")
    return find_entity(index.lookup(), name, form.values.get("label"), groups)


_UNKNOWN = datetime.min.replace(tzinfo=UTC)
_NO_LABEL = "without a label"
_RECENT = 10
_DECISIONS = 10
_ERRORS = 10
_LABELS = 8
_ENTITIES = 6
"""Of each label."""
_WEEKS = 52
_FREQUENT_ERRORS = 50


def listed_groups(index: PersistentIndex) -> list[IndexedGroup]:
    """Return the groups but those of unfinished migrations."""
    return [group for group in index.status().groups if not is_shadow(group.group_id)]


def index_overview(index: PersistentIndex) -> OverviewPage:
    groups = listed_groups(index)
    selection = Selection(groups=tuple(group.group_id for group in groups))
    overview = index.lookup().overview(index.select(selection))
    errors, _ = overview.targets([FAILED_WITH], _ERRORS)
    listed = sorted(
        (_listed_group(index, group) for group in groups), key=lambda one: one.link.text
    )
    facts = overview.counts()
    return OverviewPage(
        groups=tuple(sorted(listed, key=lambda one: one.last or _UNKNOWN, reverse=True)),
        turns=sum(group.turns for group in groups),
        facts=facts.facts,
        invalid_facts=facts.invalid,
        weeks=activity_chart("Turns by week and project", "turns", _weeks(overview)),
        recent=tuple(map(listed_turn, timeline(index, selection, limit=_RECENT).turns[::-1])),
        decisions=tuple(map(linked_fact, overview.newest(DECISIONS, _DECISIONS).facts)),
        errors=counted_entities(errors),
        labels=tuple(
            ListedLabel(one.label or _NO_LABEL, counted_entities(one.entities), one.count)
            for one in overview.most_stated(_ENTITIES)[:_LABELS]
        ),
    )


def frequent_errors(index: PersistentIndex, groups: Sequence[GroupId]) -> Sequence[StatedEntity]:
    """Return the errors and failed tests of most turns, of these groups or of all."""
    chosen = tuple(groups) or tuple(group.group_id for group in listed_groups(index))
    keys = index.select(Selection(groups=chosen))
    errors, _ = index.lookup().overview(keys).targets([FAILED_WITH], _FREQUENT_ERRORS)
    return errors


def _weeks(overview: Overview) -> Activity | None:
    rows = pl.DataFrame(
        overview.started(),
        schema={"group_id": pl.String, "started_at": pl.Datetime("us", "UTC")},
        orient="row",
    )
    return activity(rows, "group_id", pl.lit(1, pl.Int64), period=Period.WEEK, limit=_WEEKS)


def _listed_group(index: PersistentIndex, group: IndexedGroup) -> ListedGroup:
    newest = index.newest(Selection(groups=(group.group_id,)), limit=1)
    last = next(iter(index.turns(newest).values()), None)
    started_at = last.receipt.started_at if last else None
    return ListedGroup(group_link(group.group_id), group.turns, started_at)
