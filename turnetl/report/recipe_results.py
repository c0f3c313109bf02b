"""The results of a search with one of Graphiti's recipes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS
from turnetl.base.text import plural
from turnetl.report.layout import hanging, indented, relative_path, unwrapped
from turnetl.report.search_hits import NO_HITS
from turnetl.retrieval.recipe_search import (
    CommunityResult,
    EntityResult,
    EpisodeResult,
    FactResult,
    RecipeResults,
)

_TEXT_CHARS = 200
"""Characters of an episode or a summary."""


def table(results: RecipeResults, directory: Path) -> Group:
    """Render the results of each kind, each with its score and the last turn that it comes from.

    Args:
        results: best first.
        directory: paths below it are printed relative to it.
    """
    sections = (
        ("Facts", [_fact(result, directory) for result in results.facts]),
        ("Entities", [_entity(result, directory) for result in results.entities]),
        ("Episodes", [_episode(result, directory) for result in results.episodes]),
        ("Communities", [_community(result) for result in results.communities]),
    )
    lines = [line for title, rows in sections if rows for line in _section(title, rows)]
    return Group(*lines) if lines else Group(NO_HITS)


def _section(title: str, rows: Iterable[Sequence[RenderableType]]) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(title, "bold")]
    for rank, (first, *others) in enumerate(rows, 1):
        number = Text(f"{rank:>2}. ", "bold")
        lines += [hanging(number, first) if isinstance(first, Text) else first]
        lines += others
    return [*lines, ""]


def _fact(result: FactResult, directory: Path) -> list[RenderableType]:
    fact = Text(result.fact.text)
    if result.fact.invalid_at:
        fact.append(f"  (until {result.fact.invalid_at:%Y-%m-%d %H:%M})", "dim")
    return [fact, _lineage(result.score, result.fact.group_id, result.turns, directory)]


def _entity(result: EntityResult, directory: Path) -> list[RenderableType]:
    entity = result.entity
    name = Text.assemble(
        entity.name, (f"  {', '.join(entity.labels)}  {entity.uuid[:ID_CHARS]}", "dim")
    )
    summary = [_indented(entity.summary)] if entity.summary else []
    return [name, *summary, _lineage(result.score, entity.group_id, result.turns, directory)]


def _episode(result: EpisodeResult, directory: Path) -> list[RenderableType]:
    episode = result.episode
    turns = () if result.turn is None else (result.turn,)
    text = Text(_one_line(episode.text))
    return [text, _lineage(result.score, episode.group_id, turns, directory)]


def _community(result: CommunityResult) -> list[RenderableType]:
    community = result.community
    summary = [_indented(community.summary)] if community.summary else []
    score = unwrapped("    ", (f"score {result.score:.4f}", "cyan"), f"  {community.group_id}")
    return [Text(community.name), *summary, score]


def _lineage(score: float, group: str, turns: Sequence[Receipt], directory: Path) -> Text:
    """Return score, group, and id, time, file and lines of the last of the turns."""
    line = unwrapped("    ", (f"score {score:.4f}", "cyan"), f"  {group}")
    if turns:
        last = turns[-1]
        line.append(f"  {last.turn_id[:ID_CHARS]}", "dim")
        path = relative_path(Path(last.archive), directory)
        line.append(f"  {last.started_at:%Y-%m-%d %H:%M}", "cyan")
        line.append(f"  {path}:{last.first_line}-{last.last_line}", "dim")
    if len(turns) > 1:
        line.append(f"  and {plural(len(turns) - 1, 'earlier turn')}", "dim")
    return line


def _indented(text: str) -> RenderableType:
    return indented(Text(_one_line(text)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_CHARS else f"{line[: _TEXT_CHARS - 1]}…"
