"""What a search found: for people, and the JSON that others script against."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from turnetl.search.run import SearchHit


def table(hits: Sequence[SearchHit], here: Path) -> Group:
    """Each hit: its fact, then when and where it was said, then more of its turn."""
    if not hits:
        return Group("nothing found; try other words, or `turnetl status` to see what is there")
    return Group(*(part for number, hit in enumerate(hits, 1) for part in _hit(number, hit, here)))


def as_json(hits: Sequence[SearchHit]) -> dict[str, Any]:
    return {"hits": [_plain(asdict(hit)) for hit in hits]}


def near(archive: Path, here: Path) -> Path:
    """Return the path from here, if it lies below."""
    return archive.relative_to(here) if archive.is_relative_to(here) else archive


def _hit(number: int, hit: SearchHit, here: Path) -> list[Any]:
    fact = Text.assemble((f"{number:>2}. ", "bold"), hit.fact)
    if hit.invalid_at:
        fact.append(f"  (until {_day(hit.invalid_at)})", "dim")
    place = f"{near(Path(hit.archive), here)}:{hit.first_line}-{hit.last_line}"
    # A path is there to be copied: it is never broken.
    where = Text("    ", no_wrap=True, overflow="ignore")
    where.append(_day(hit.valid_at), "cyan").append(f"  {hit.group_id}  ").append(place, "dim")
    return [fact, where, *(_under(Text(f"· {more}")) for more in hit.more_facts), ""]


def _under(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 4))


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
