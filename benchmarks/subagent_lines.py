"""Measure how many lines that subagents wrote lead to the turn that started the subagent.

    python -m benchmarks.subagent_lines [--delegated] [ARCHIVES]

Ingests the archives into a temporary graph without a model. Each line that an edit of a subagent
added is taken as one of a commit made when the edit ended, and looked up as `turnetl why FILE:LINE`
does, without git. Prints how many lines lead to the turn, by project, and which share of the text
of turns with subagents their episodes keep.

With `--delegated` the sessions of Claude Code are first rewritten so that a subagent, with an
archive of its own, does the work of each turn: archives of real projects have few lines of
subagents. Then it also prints how many lines belong to the prompt before them in their session.

Lines of less than 8 characters, and files outside the project, are not counted. Exits with 1 if
less than 95 % of the lines lead to their turns, or more than 15 % of the text is kept.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests import real_archives
from turnetl import formats, pipeline, wiring
from turnetl.base.clock import now
from turnetl.base.model import Episode, SubagentRun, Turn
from turnetl.base.progress import ignore_progress
from turnetl.extraction.structural.turn_features import project_paths
from turnetl.formats.kit.tool_input import added_lines
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion import plan
from turnetl.parsing.archive_files import LOCAL
from turnetl.parsing.sources import read_archive
from turnetl.pipeline.opened_items import read_index
from turnetl.pipeline.origin import edit_sources
from turnetl.retrieval.why import BlamedCommit, BlamedLine, attribute, is_distinctive
from turnetl.settings import Settings

_Row = dict[str, Any]
MIN_LINES, MAX_SHARE = 95.0, 15.0
"""Limits in %."""


@dataclass(frozen=True, slots=True)
class WrittenLine:
    turn: Turn
    path: str
    """From the root of the project."""
    text: str
    at: datetime
    agent_id: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archives", nargs="?", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--delegated", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archives = Path(folder) / "archives" if given.delegated else given.archives
        if given.delegated:
            delegate(given.archives, archives)
        projects = [str(path) for path in sorted(archives.iterdir()) if path.is_dir()]
        settings = Settings(lake=Path(folder) / "lake")
        return asyncio.run(measure(projects, settings, delegated=given.delegated))


def delegate(archives: Path, folder: Path) -> None:
    """Write the sessions of Claude Code so that a subagent does the work of each turn."""
    for path in archives.rglob("*.jsonl"):
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            rows = [
                json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line
            ]
            if any(row.get("isSidechain") for row in rows) or not any(
                "sessionId" in row for row in rows
            ):
                continue
            target = folder / path.relative_to(archives).with_suffix("")
            own, works = _split(rows)
            _write(target.with_suffix(".jsonl"), own)
            for agent, work in works.items():
                _write(target / "subagents" / f"agent-{agent}.jsonl", work)


def _split(rows: Sequence[_Row]) -> tuple[list[_Row], dict[str, list[_Row]]]:
    """Return the rows of a session that only delegates, and those of its subagents by prompt."""
    own: list[_Row] = []
    works: dict[str, list[_Row]] = {}
    agent = None
    for row in rows:
        if row.get("type") == "user" and isinstance(row["message"]["content"], str):
            agent = str(row["uuid"])
            use = {"type": "tool_use", "id": f"call-{agent}", "name": "Task", "input": {}}
            call = {"role": "assistant", "content": [use]}
            own += [row, row | {"type": "assistant", "uuid": f"call-{agent}", "message": call}]
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": "Done."}
            about = {"agentId": agent, "status": "completed"}
            own.append(
                row
                | {"uuid": f"result-{agent}", "message": {"role": "user", "content": [result]}}
                | {"toolUseResult": about}
            )
        elif agent is not None and row.get("type") in ("user", "assistant"):
            work = works.setdefault(agent, [])
            work.append(row | {"isSidechain": True, "agentId": agent})
        else:
            own.append(row)
    return own, works


def _write(path: Path, rows: Sequence[_Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


async def measure(projects: Sequence[str], settings: Settings, *, delegated: bool) -> int:
    options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
    await pipeline.backfill(projects, settings, options, now)
    lake = wiring.lake(settings)
    groups = lake.groups()
    episodes = [
        episode for group in groups for episode in lake.episodes(group) if episode.turn.subagents
    ]
    lines = [line for one in episodes if one.noise is None for line in _lines(one.turn)]
    if delegated:
        right = [line for line in lines if line.turn.prompt_id == line.agent_id]
        print(f"lines joined to the prompt before them: {len(right):,} of {len(lines):,}")
    answer = await read_index(
        lambda index: [_is_named(index, line, settings) for line in lines],
        settings,
        now,
        ignore_progress,
    )
    named = Counter(
        line.turn.group_id for line, found in zip(lines, answer.value, strict=True) if found
    )
    written = Counter(line.turn.group_id for line in lines)
    print("lines named, by project")
    for group, count in sorted(written.items()):
        print(f"  {named[group]:6,} of {count:6,}  {group}")
    share = 100 * named.total() / max(written.total(), 1)
    print(f"  {share:.1f} % of {written.total():,} lines of {len(episodes):,} turns")
    noise = Counter(one.noise for one in episodes if one.noise is not None)
    print(f"turns with subagents that are noise: {dict(noise)}")
    kept = _share(episodes)
    print(f"text kept of turns with subagents: {kept:.1f} %")
    return int(share < MIN_LINES or kept > MAX_SHARE)


def _share(episodes: Sequence[Episode]) -> float:
    before = sum(one.chars_before for one in episodes)
    return 100 * sum(one.chars_after for one in episodes) / max(before, 1)


def _lines(turn: Turn) -> Iterator[WrittenLine]:
    """Yield the lines that subagents of a turn added, as their archives have them."""
    paths = project_paths(turn.group_id, turn.cwd, turn.git_branch)
    reader = formats.by_name(turn.format)
    for run in turn.subagents:
        parsed = reader.read(read_archive(Path(run.archive), LOCAL)) if reader else None
        for call in (call for one in (parsed.runs if parsed else ()) for call in one.tool_calls):
            if call.is_error or not _is_of(call.line, run):
                continue
            for path, added in added_lines(call.arguments):
                name, at = paths.file(path), call.ended_at or turn.started_at
                if name is not None and not name.startswith(("/", "~")) and at is not None:
                    yield from (
                        WrittenLine(turn, name, text, at, run.agent_id)
                        for text in added
                        if is_distinctive(text)
                    )


def _is_of(line: int, run: SubagentRun) -> bool:
    return any(call.line == line for call in run.tool_calls)


def _is_named(index: PersistentIndex, line: WrittenLine, settings: Settings) -> bool:
    commit = BlamedCommit("1" * 40, line.at, "", line.path, None, (BlamedLine(1, line.text),))
    root = line.turn.cwd or ""
    [found] = attribute(index, [(commit, None)], root, edit_sources(settings), by_line=True)
    return [one.receipt.turn_id for one in found.turns] == [line.turn.turn_id]


if __name__ == "__main__":
    sys.exit(main())
