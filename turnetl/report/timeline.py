"""A timeline: a row per turn."""

from rich.console import Group

from turnetl.base.text import plural
from turnetl.report.layout import caption
from turnetl.report.turns import files_line, turns_grid
from turnetl.retrieval.turn_summary import Timeline

_NO_TURNS = "no turn meets these conditions; `turnetl status` prints what the graph holds"


def view(timeline: Timeline) -> Group:
    """Render when each turn was, its id, its group, its prompt and the files that it changed."""
    if not timeline.turns:
        return Group(caption(_NO_TURNS))
    rows = ((turn, files_line(turn.files)) for turn in timeline.turns)
    return Group(turns_grid(rows, with_group=True), caption(_count(timeline)))


def _count(timeline: Timeline) -> str:
    if len(timeline.turns) < timeline.count:
        return f"the last {len(timeline.turns):,} of {timeline.count:,} turns; -n prints more"
    return plural(timeline.count, "turn")
