"""What a search found: for people, and the JSON that others script against."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from turnetl.graph.search import Hit


def table(hits: Sequence[Hit]) -> Group:
    """Each hit: its fact, then when and where it was said, then more of its turn."""
    if not hits:
        return Group("nothing found; try other words, or `turnetl status` to see what is there")
    return Group(*(part for number, hit in enumerate(hits, 1) for part in _hit(number, hit)))


def as_json(hits: Sequence[Hit]) -> dict[str, Any]:
    return {"hits": [_plain(asdict(hit)) for hit in hits]}


def _hit(number: int, hit: Hit) -> list[Any]:
    ended = f"  [dim](until {_day(hit.invalid_at)})[/dim]" if hit.invalid_at else ""
    place = f"{hit.archive}:{hit.first_line}-{hit.last_line}"
    return [
        Text.from_markup(f"[bold]{number:>2}.[/bold] {escape(hit.fact)}{ended}"),
        Padding(
            Text.from_markup(
                f"[cyan]{_day(hit.valid_at)}[/cyan]  {hit.group_id}  [dim]{escape(place)}[/dim]"
            ),
            (0, 0, 0, 4),
        ),
        *(Padding(Text(f"· {fact}"), (0, 0, 0, 4)) for fact in hit.more),
        "",
    ]


def _day(time: datetime | None) -> str:
    return "no date" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _plain(value: Any) -> Any:
    """Return the value with times as ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _plain(of) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(of) for of in value]
    return value
