"""A timeline: a row per turn."""

from turnetl.base.text import plural
from turnetl.retrieval.turn_summary import Timeline
from turnetl.views.nodes import Caption, View
from turnetl.views.turns import files_line, turns_grid

_NO_TURNS = "no turn meets these conditions; `turnetl status` prints what the graph holds"


def view(timeline: Timeline) -> View:
    """Return when each turn was, its id, its group, its prompt and the files that it changed."""
    if not timeline.turns:
        return [Caption(_NO_TURNS)]
    rows = ((turn, files_line(turn.files)) for turn in timeline.turns)
    return [turns_grid(rows, with_group=True), Caption(_count(timeline))]


def _count(timeline: Timeline) -> str:
    if len(timeline.turns) < timeline.count:
        return f"the last {len(timeline.turns):,} of {timeline.count:,} turns; -n prints more"
    return plural(timeline.count, "turn")
