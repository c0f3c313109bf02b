"""What each page shows, read from the index that stays open."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import polars as pl

from turnetl.activity_report.contents import Period, activity
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import is_shadow
from turnetl.base.model import Entity, GroupId
from turnetl.base.relations import (
    COMMITTED,
    DECISIONS,
    EDITS,
    FAILED_WITH,
    FAILURES,
    FIXED_BY,
    SUPERSEDES,
)
from turnetl.base.text import plural
from turnetl.html.charts import Chart, share
from turnetl.html.references import shown_path
from turnetl.index.conditions import Selection
from turnetl.index.index_report import IndexedGroup
from turnetl.index.lookup import Overview
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
from turnetl.retrieval.items import FILE_LABEL, Namesake, find_entity
from turnetl.retrieval.search import CombinedHits
from turnetl.retrieval.turn_summary import summarize, timeline
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.entities import PAGE_SIZE as ENTITY_TURNS
from turnetl.web.routes.entities import (
    EntityPage,
    FixPage,
    FrequentError,
    entity_page,
    fix_page,
    frequent_error,
)
from turnetl.web.routes.overview import (
    ListedGroup,
    ListedLabel,
    ListedSession,
    OverviewPage,
    OverviewPeriod,
    ProjectPage,
    ToldList,
    counted_entities,
)
from turnetl.web.routes.references import NamedLink, group_link, listed_turn, told_facts
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
        self._overview: tuple[object, OverviewPage] | None = None
        """The first page, and the state of the groups and the day that it was made of."""

    async def overview(self) -> IndexAnswer[OverviewPage]:
        def read(index: PersistentIndex) -> OverviewPage:
            now = self._clock()
            state = index.status().groups, now.date()
            if self._overview is None or self._overview[0] != state:
                self._overview = state, index_overview(index, now)
            return self._overview[1]

        return await self._read(read)

    async def project(self, form: PageForm) -> IndexAnswer[ProjectPage]:
        """Return the page of the one group that the form names, by id or project name."""

        def read(index: PersistentIndex) -> ProjectPage:
            if len(form.groups) != 1:
                raise BadUsage("add the name of one project to the address: `project?group=NAME`")
            (group,) = group_ids(index, form.groups)
            return project_page(index, group)

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

        def read(index: PersistentIndex) -> EntityPage:
            entity, others = _entity(index, form, self._directory)
            found = entity_details(index, entity, limit=ENTITY_TURNS, skip=skip)
            return entity_page(page, form, replace(found, others=others))

        return await self._read(read)

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


def _entity(
    index: PersistentIndex, form: PageForm, directory: Path
) -> tuple[Entity, tuple[Namesake, ...]]:
    groups = group_ids(index, form.groups)
    if path := form.value("path"):
        return find_entity(index.lookup(), path, FILE_LABEL, groups, directory)
    # A link has the complete id: no entity that is named so takes its place.
    if exact := index.lookup().entity(form.value("id")):
        return exact, ()
    name = form.value("id") or form.value("name")
    return find_entity(index.lookup(), name, form.values.get("label"), groups, directory)


_UNKNOWN = datetime.min.replace(tzinfo=UTC)
_NO_LABEL = "without a label"
_RECENT = 5
_ERRORS = 8
_LABELS = 8
_ENTITIES = 6
"""Of each label."""
_FILES = 10
_SESSIONS = 10
_DAYS = 56
"""Of the chart of a page."""
_FREQUENT_ERRORS = 30
_TOLD, _TOLD_BEFORE = 5, 3
"""Facts of a list of the first page: of the last week, and of the weeks before it."""
_TOLD_OF_PROJECT = 8
_READ = 8
"""Times as many facts are read as are told: some are repeated, or not understood alone."""
_WEEK, _MONTH = timedelta(days=7), timedelta(days=30)
_STATED = DECISIONS - {SUPERSEDES}
_BUILT = frozenset({COMMITTED, FIXED_BY})


def listed_groups(index: PersistentIndex) -> list[IndexedGroup]:
    """Return the groups but those of unfinished migrations."""
    return [group for group in index.status().groups if not is_shadow(group.group_id)]


def index_overview(index: PersistentIndex, now: datetime) -> OverviewPage:
    groups = listed_groups(index)
    selection = Selection(groups=tuple(group.group_id for group in groups))
    overview = index.lookup().overview(index.select(selection))
    errors, _ = overview.targets([FAILED_WITH], _ERRORS)
    facts, last = overview.counts(), _last_result(overview, now)
    return OverviewPage(
        periods=_periods(index, selection, last, now) if groups else (),
        groups=_listed_groups(index, groups),
        turns=sum(group.turns for group in groups),
        facts=facts.facts,
        invalid_facts=facts.invalid,
        days=_days(overview, last),
        recent=tuple(map(listed_turn, timeline(index, selection, limit=_RECENT).turns[::-1])),
        errors=counted_entities(errors),
        labels=tuple(
            ListedLabel(one.label or _NO_LABEL, counted_entities(one.entities), one.count)
            for one in overview.most_stated(_ENTITIES)[:_LABELS]
        ),
    )


def _last_result(overview: Overview, now: datetime) -> datetime:
    """Return now, or the time of the newest result if the last month has none."""
    newest = overview.newest(_STATED | _BUILT | FAILURES, 1).facts
    last = newest[0].valid_at if newest else None
    return now if last is None or last > now - _MONTH else last


def _periods(
    index: PersistentIndex, selection: Selection, last: datetime, now: datetime
) -> tuple[OverviewPeriod, ...]:
    """Return the week that ends then, and the weeks before it up to a month."""
    until = None if last == now else last + timedelta(microseconds=1)
    day = f"{last:%Y-%m-%d}"
    week = "This week" if until is None else f"The last week with results, until {day}"
    month = "Earlier this month" if until is None else "The three weeks before"
    recent = replace(selection, since=last - _WEEK, until=until)
    earlier = replace(selection, since=last - _MONTH, until=last - _WEEK)
    made = (
        _period(index, week, recent, _TOLD),
        _period(index, month, earlier, _TOLD_BEFORE),
    )
    return tuple(one for one in made if any(told.facts for told in one.lists))


def _period(index: PersistentIndex, title: str, selection: Selection, limit: int) -> OverviewPeriod:
    keys = index.select(selection)
    lists = _told_lists(index.lookup().overview(keys), selection, limit)
    return OverviewPeriod(title, plural(len(keys), "turn"), lists)


def _told_lists(overview: Overview, selection: Selection, limit: int) -> tuple[ToldList, ...]:
    kinds = (
        ("Decisions", _STATED, "No decision that holds."),
        ("Built and fixed", _BUILT, "No commit, and no failure that was fixed."),
        ("Open problems", FAILURES, "Every known failure passed later."),
    )
    times = {"since": selection.since, "until": selection.until}
    shared = [(name, time.isoformat()) for name, time in times.items() if time]
    if len(selection.groups) == 1:
        shared.append(("group", selection.groups[0]))
    lists = []
    for title, kind, empty in kinds:
        facts = overview.newest(kind, limit * _READ, valid_only=True).facts
        # A timeline takes one relation: the most frequent of these, which a turn surely has.
        frequent = Counter(fact.relation for fact in facts).most_common(1)
        more = forms.link(forms.TIMELINE, [*shared, *(("relation", one) for one, _ in frequent)])
        lists.append(ToldList(title, told_facts(facts, limit), more, empty))
    return tuple(lists)


def project_page(index: PersistentIndex, group: GroupId) -> ProjectPage:
    lookup, selection = index.lookup(), Selection(groups=(group,))
    span = next((one for one in lookup.group_spans() if one.group_id == group), None)
    if span is None:
        raise BadUsage(f"the group `{group}` has no turn in the graph: run `turnetl backfill`")
    overview = lookup.overview(index.select(selection))
    of_group = ("group", group)
    return ProjectPage(
        group=group_link(group),
        folder=shown_path(_newest_receipt(index, group).cwd or ""),
        turns=plural(span.turns, "turn"),
        sessions=plural(span.sessions, "session"),
        first=span.first,
        last=span.last,
        lists=_told_lists(overview, selection, _TOLD_OF_PROJECT),
        days=_days(overview, span.last),
        recent=_sessions(index, group),
        files=counted_entities(overview.files(EDITS, _FILES)),
        timeline=forms.link(forms.TIMELINE, [of_group]),
        errors=forms.link(forms.FIX, [of_group]),
        search=forms.link(forms.SEARCH, [of_group]),
    )


def _sessions(index: PersistentIndex, group: GroupId) -> tuple[ListedSession, ...]:
    lookup = index.lookup()
    spans = lookup.session_spans([group], limit=_SESSIONS).sessions
    firsts = {one.session_id: lookup.session(one.session_id)[:1] for one in spans}
    titled = summarize(index, [key for keys in firsts.values() for key in keys])
    names = {one.receipt.session_id: one.intent for one in titled}
    return tuple(
        ListedSession(
            NamedLink(
                names.get(one.session_id) or "(no prompt)",
                forms.item_link(forms.SESSION, one.session_id),
            ),
            plural(one.turns, "turn"),
            one.last,
        )
        for one in spans
    )


def frequent_errors(index: PersistentIndex, groups: Sequence[GroupId]) -> list[FrequentError]:
    """Return the errors and failed tests of most turns, of these groups or of all."""
    chosen = tuple(groups) or tuple(group.group_id for group in listed_groups(index))
    keys = index.select(Selection(groups=chosen))
    overview = index.lookup().overview(keys)
    errors, _ = overview.targets([FAILED_WITH], _FREQUENT_ERRORS)
    return [
        frequent_error(one, overview.newest_about(one.entity.uuid, _READ).facts) for one in errors
    ]


def _days(overview: Overview, last: datetime) -> Chart | None:
    """Return the turns of the last days up to this time."""
    first = last - timedelta(days=_DAYS - 1)
    rows = pl.DataFrame(
        [one for one in overview.started() if first <= one[1] <= last],
        schema={"group_id": pl.String, "started_at": pl.Datetime("us", "UTC")},
        orient="row",
    )
    one = pl.lit(1, pl.Int64)
    found = activity(rows, "group_id", one, period=Period.DAY, limit=_DAYS)
    return activity_chart("Turns by day", "turns", found)


def _listed_groups(
    index: PersistentIndex, groups: Sequence[IndexedGroup]
) -> tuple[ListedGroup, ...]:
    last = {span.group_id: span.last for span in index.lookup().group_spans()}
    most = max((group.turns for group in groups), default=0)
    listed = [
        ListedGroup(
            group_link(one.group_id), one.turns, last.get(one.group_id), share(one.turns, most)
        )
        for one in sorted(groups, key=lambda one: one.group_id)
    ]
    return tuple(sorted(listed, key=lambda one: one.last or _UNKNOWN, reverse=True))


def _newest_receipt(index: PersistentIndex, group: GroupId) -> Receipt:
    (key,) = index.newest(Selection(groups=(group,)), limit=1)
    return index.turns([key])[key].receipt
