"""The results of a search with one of Graphiti's recipes."""

from collections.abc import Iterable, Sequence

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS
from turnetl.base.text import plural
from turnetl.retrieval.recipe_search import (
    CommunityResult,
    EntityResult,
    EpisodeResult,
    FactResult,
    RecipeResults,
)
from turnetl.views.nodes import Line, LineRange, Lines, Node, Part, View, line, unwrapped
from turnetl.views.search_hits import NO_HITS, ranked

_TEXT_CHARS = 200


def view(results: RecipeResults) -> View:
    """Return the results of each kind, best first, each with its score and its last turn."""
    sections = (
        ("Facts", [_fact(result) for result in results.facts]),
        ("Entities", [_entity(result) for result in results.entities]),
        ("Episodes", [_episode(result) for result in results.episodes]),
        ("Communities", [_community(result) for result in results.communities]),
    )
    lines = [line for title, rows in sections if rows for line in _section(title, rows)]
    return lines or [NO_HITS]


def _section(title: str, rows: Iterable[tuple[Line, View]]) -> View:
    lines: list[Node] = [line((title, "bold"))]
    for rank, (first, others) in enumerate(rows, 1):
        lines += [ranked(rank, first), *others]
    return [*lines, ""]


def _fact(result: FactResult) -> tuple[Line, View]:
    invalid_at = result.fact.invalid_at
    until = f"  (until {invalid_at:%Y-%m-%d %H:%M})" if invalid_at else ""
    lineage = _lineage(result.score, result.fact.group_id, result.turns)
    return line(result.fact.text, (until, "dim")), [lineage]


def _entity(result: EntityResult) -> tuple[Line, View]:
    entity = result.entity
    labels = f"  {', '.join(entity.labels)}  {entity.uuid[:ID_CHARS]}"
    lineage = _lineage(result.score, entity.group_id, result.turns)
    return line(entity.name, (labels, "dim")), [*_summary(entity.summary), lineage]


def _episode(result: EpisodeResult) -> tuple[Line, View]:
    turns = () if result.turn is None else (result.turn,)
    lineage = _lineage(result.score, result.episode.group_id, turns)
    return line(_one_line(result.episode.text)), [lineage]


def _community(result: CommunityResult) -> tuple[Line, View]:
    found = result.community
    score = unwrapped("    ", (f"score {result.score:.4f}", "cyan"), f"  {found.group_id}")
    return line(found.name), [*_summary(found.summary), score]


def _lineage(score: float, group: str, turns: Sequence[Receipt]) -> Line:
    """Return score, group, and id, time, file and lines of the last of the turns."""
    parts: list[Part] = ["    ", (f"score {score:.4f}", "cyan"), f"  {group}"]
    if turns:
        last = turns[-1]
        parts.append((f"  {last.turn_id[:ID_CHARS]}", "dim"))
        parts.append((f"  {last.started_at:%Y-%m-%d %H:%M}", "cyan"))
        parts += ["  ", LineRange(last.archive, last.first_line, last.last_line)]
    if len(turns) > 1:
        parts.append((f"  and {plural(len(turns) - 1, 'earlier turn')}", "dim"))
    return unwrapped(*parts)


def _summary(text: str) -> View:
    return [Lines([_one_line(text)], indent=4)] if text else []


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_CHARS else f"{line[: _TEXT_CHARS - 1]}…"
