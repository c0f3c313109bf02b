"""The hits of a search."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from turnetl.model import Usage
from turnetl.report.costs import format_cost, token_count
from turnetl.report.layout import plural, unwrapped
from turnetl.retrieval.search import SearchHit

NO_HITS = "no hits; try other words, or `turnetl status` to see what the graph holds"
_NOTHING_CLOSE = "nothing close to the query; --nearest prints the nearest turns"


def table(hits: Sequence[SearchHit], distant: int, directory: Path) -> Group:
    """Render each hit: its fact, its time and lineage, and more facts of its turn.

    Args:
        hits: best first.
        distant: turns that were left out because nothing is close to the query.
        directory: paths below it are printed relative to it.
    """
    if not hits:
        return Group(_NOTHING_CLOSE if distant else NO_HITS)
    return Group(*(line for rank, hit in enumerate(hits, 1) for line in _hit(rank, hit, directory)))


def usage_messages(usage: Usage) -> list[str]:
    """Return what the model that ranked the results used, if requests were sent."""
    if not usage.calls:
        return []
    used = f"{plural(usage.calls, 'request')}, {token_count(usage):,} tokens"
    return [f"the model ranked the results: {used}, cost {format_cost(usage.cost)}"]


def relative_path(path: Path, directory: Path) -> Path:
    """Return the path relative to the directory if it lies below it, else the path."""
    return path.relative_to(directory) if path.is_relative_to(directory) else path


def _hit(rank: int, hit: SearchHit, directory: Path) -> list[RenderableType]:
    title = Text.assemble((f"{rank:>2}. ", "bold"), hit.prompt or hit.fact)
    path = relative_path(Path(hit.archive), directory)
    lineage = unwrapped(
        "    ",
        (hit.id, "bold"),
        "  ",
        (_minute(hit.valid_at), "cyan"),
        f"  {hit.group_id}  ",
        (f"{path}:{hit.first_line}-{hit.last_line}", "dim"),
    )
    if hit.relevance is not None:
        lineage.append(f"  relevance {hit.relevance:.2f}", "cyan")
    lines: list[RenderableType] = [title, lineage]
    if hit.fact not in ("", hit.prompt):
        fact = Text(hit.fact)
        if hit.invalid_at:
            fact.append(f"  (until {_minute(hit.invalid_at)})", "dim")
        lines.append(_indented(fact))
    lines += [_indented(Text(f"· {fact}")) for fact in hit.more_facts]
    if hit.files:
        lines.append(_indented(Text(f"files: {', '.join(hit.files)}", "dim")))
    return [*lines, ""]


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 4), expand=False)


def _minute(time: datetime | None) -> str:
    return "no time" if time is None else f"{time:%Y-%m-%d %H:%M}"
