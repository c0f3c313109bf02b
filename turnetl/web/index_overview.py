"""What an index holds in all, for the first page and for the list of errors."""

from collections.abc import Sequence

import polars as pl

from turnetl.activity_report.model import Activity
from turnetl.activity_report.series import Period, activity
from turnetl.base.model import GroupId
from turnetl.base.shadow_groups import is_shadow
from turnetl.index.lookup import LookupIndex
from turnetl.index.overview import Overview, StatedEntity
from turnetl.index.report import IndexedGroup
from turnetl.index.selection import Selection
from turnetl.retrieval.digest import DECISIONS, FAILURE
from turnetl.retrieval.timeline import timeline
from turnetl.web.views.overview import GroupTurns, IndexOverview

_RECENT = 10
_DECISIONS = 10
_ERRORS = 10
_LABELS = 8
_ENTITIES = 6
"""Of each label."""
_WEEKS = 52
_FREQUENT_ERRORS = 50


def listed_groups(index: LookupIndex) -> list[IndexedGroup]:
    """Return the groups but those of unfinished migrations."""
    return [group for group in index.status().groups if not is_shadow(group.group_id)]


def index_overview(index: LookupIndex) -> IndexOverview:
    """Return what an index holds, without groups of unfinished migrations."""
    groups = listed_groups(index)
    selection = Selection(groups=tuple(group.group_id for group in groups))
    overview = index.lookup().overview(index.select(selection))
    errors, _ = overview.targets([FAILURE], _ERRORS)
    return IndexOverview(
        groups=tuple(_group_turns(index, group) for group in groups),
        recent=timeline(index, selection, limit=_RECENT),
        weeks=_weeks(overview),
        facts=overview.counts(),
        labels=tuple(overview.most_stated(_ENTITIES)[:_LABELS]),
        errors=tuple(errors),
        decisions=overview.newest(DECISIONS, _DECISIONS),
    )


def frequent_errors(index: LookupIndex, groups: Sequence[GroupId]) -> Sequence[StatedEntity]:
    """Return the errors and failed tests of most turns.

    Args:
        index: of the graph.
        groups: only those of these groups; all groups if empty.
    """
    chosen = tuple(groups) or tuple(group.group_id for group in listed_groups(index))
    keys = index.select(Selection(groups=chosen))
    errors, _ = index.lookup().overview(keys).targets([FAILURE], _FREQUENT_ERRORS)
    return errors


def _weeks(overview: Overview) -> Activity | None:
    rows = pl.DataFrame(
        overview.started(),
        schema={"group_id": pl.String, "started_at": pl.Datetime("us", "UTC")},
        orient="row",
    )
    return activity(rows, "group_id", pl.lit(1, pl.Int64), period=Period.WEEK, limit=_WEEKS)


def _group_turns(index: LookupIndex, group: IndexedGroup) -> GroupTurns:
    newest = index.newest(Selection(groups=(group.group_id,)), limit=1)
    last = next(iter(index.turns(newest).values()), None)
    return GroupTurns(group.group_id, group.turns, last.receipt.started_at if last else None)
