"""The hits of a search."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from turnetl.report.layout import unwrapped
from turnetl.retrieval.search import SearchHit

NO_HITS = "no hits; try other words, or `turnetl status` to see what the graph holds"


def table(hits: Sequence[SearchHit], directory: Path) -> Group:
    """Render each hit: its fact, its time and lineage, and more facts of its turn.

    Args:
        hits: best first.
        directory: paths below it are printed relative to it.
    """
    if not hits:
        return Group(NO_HITS)
    return Group(*(line for rank, hit in enumerate(hits, 1) for line in _hit(rank, hit, directory)))


def relative_path(path: Path, directory: Path) -> Path:
    """Return the path relative to the directory if it lies below it, else the path."""
    return path.relative_to(directory) if path.is_relative_to(directory) else path


def _hit(rank: int, hit: SearchHit, directory: Path) -> list[RenderableType]:
    fact = Text.assemble((f"{rank:>2}. ", "bold"), hit.fact)
    if hit.invalid_at:
        fact.append(f"  (until {_minute(hit.invalid_at)})", "dim")
    path = relative_path(Path(hit.archive), directory)
    lineage = unwrapped(
        "    ",
        (_minute(hit.valid_at), "cyan"),
        f"  {hit.group_id}  ",
        (f"{path}:{hit.first_line}-{hit.last_line}", "dim"),
    )
    more = [Padding(Text(f"· {fact}"), (0, 0, 0, 4), expand=False) for fact in hit.more_facts]
    return [fact, lineage, *more, ""]


def _minute(time: datetime | None) -> str:
    return "no time" if time is None else f"{time:%Y-%m-%d %H:%M}"
