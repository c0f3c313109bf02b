"""What the stages of a migration cost: synthetic sessions with one summary each.

    python -m benchmarks.migration_stages [ladybug] [neo4j] [--sessions 1000] [--turns 10]

The extractor is the structural one. Each stage is a process of its own, and depends on those before
it; an estimate is a plan that estimates the run as well. The CPU time of a Neo4j that the benchmark
started is a column of its own.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.commit import server_cpu
from benchmarks.cost import Cost, at_least, at_most, measure_cost
from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from tests.servers import neo4j_server
from turnetl.base.clock import now
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.migration.plan import MigrationOptions, plan_estimated_migration, plan_migration
from turnetl.migration.run_comparison import compare_migration
from turnetl.migration.run_migration import run_migration
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings, load_settings

GROUP = "old-summaries"
RUN = datetime(2026, 9, 1, tzinfo=UTC)
MAX_PLAN_MILLISECONDS = 20
"""CPU per turn of the archives."""
MAX_MB = 1_500
"""Of each stage."""
_OPTIONS = MigrationOptions(groups=(GROUP,))


def measure(name: str, sessions: int, turns: int) -> bool:
    """Print time and memory of each stage; return whether the limits are met."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with _graph(name, folder) as (url, server):
            asyncio.run(_fill(url, _write_archives(folder / "archives", sessions, turns)))
            print(f"{name}: {sessions:,} summaries, {sessions * turns:,} turns")
            print(f"{'stage':14} {'CPU s':>7} {'server':>7} {'wall s':>7} {'peak MB':>7}")
            costs = {
                stage: _measured(stage, function, folder, url, server)
                for stage, function in STAGES.items()
            }
    milliseconds = 1_000 * costs["plan"].cpu / (sessions * turns)
    passed = at_most("ms CPU of plan per turn", milliseconds, MAX_PLAN_MILLISECONDS)
    passed &= at_most("MB of any stage", max(cost.peak for cost in costs.values()), MAX_MB)
    matched = int(costs["plan"].result.split()[0])
    return passed & at_least("matched summaries in percent", 100 * matched / sessions, 99)


def plan(folder: Path, url: str) -> str:
    """Classify the summaries by their texts."""
    settings = _settings(folder, url)
    report = asyncio.run(plan_migration(_archives(folder), settings, _OPTIONS))
    return f"{len(report.of_kind(EpisodeClass.MATCHED))} matched"


def estimate(folder: Path, url: str) -> str:
    """Classify the summaries by their texts, and estimate the run."""
    settings = _settings(folder, url)
    report = asyncio.run(
        plan_estimated_migration(_archives(folder), settings, _OPTIONS, RunOptions(), now)
    )
    turns = 0 if report.estimate is None else report.estimate.turns
    return f"{turns} turns estimated"


def run(folder: Path, url: str) -> str:
    """Ingest the turns into the shadow group."""
    settings = _settings(folder, url)
    report = asyncio.run(run_migration(_archives(folder), settings, _OPTIONS, RunOptions(), now))
    return f"{sum(group.committed for group in report.ingested.groups)} turns committed"


def compare(folder: Path, url: str) -> str:
    """Compare the old data with the turns."""
    report = asyncio.run(compare_migration(_settings(folder, url), now))
    [group] = report.groups
    return (
        f"{group.expressed:.0%} of {group.old.facts:,} facts, "
        f"{group.new_hit_rate or 0:.0%} of {len(group.probes):,} probes"
    )


def change(command: MigrationCommand, folder: Path, url: str) -> str:
    """Cut over, roll back or finish."""
    options = ChangeOptions(command, accept=True)
    done = asyncio.run(execute_change(_settings(folder, url), options, now))
    if not done.is_done:
        raise AssertionError(done.error or done.objections)
    return f"{len(done.old):,} old and {len(done.turns):,} new nodes and facts"


STAGES: Mapping[str, Callable[[Path, str], str]] = {
    "plan": plan,
    "estimate": estimate,
    "run": run,
    "compare": compare,
    "cutover": partial(change, MigrationCommand.CUTOVER),
    "rollback": partial(change, MigrationCommand.ROLLBACK),
    "cutover again": partial(change, MigrationCommand.CUTOVER),
    "finish": partial(change, MigrationCommand.FINISH),
}


def _measured(
    stage: str, function: Callable[[Path, str], str], folder: Path, url: str, server: int | None
) -> Cost:
    before = server_cpu(server)
    cost = measure_cost(function, folder, url)
    of_server = server_cpu(server) - before
    print(
        f"{stage:14} {cost.cpu:7.1f} {of_server:7.1f} {cost.wall:7.1f} {cost.peak:7.0f}  "
        f"{cost.result}",
        flush=True,
    )
    return cost


@contextmanager
def _graph(name: str, folder: Path) -> Iterator[tuple[str, int | None]]:
    """Yield the URL of an empty graph, and the process of its server."""
    if name == "ladybug":
        yield f"ladybug://{folder / 'graph.lbug'}", None
        return
    with neo4j_server.running(folder / "server") as server:
        yield server.url, server.pid


def _archives(folder: Path) -> Sequence[str]:
    return [str(folder / "archives")]


def _settings(folder: Path, url: str) -> Settings:
    return load_settings(None, lake=folder / "lake", graph=url, extractor="structural")


async def _fill(url: str, episodes: Sequence[LegacyEpisode]) -> None:
    await write_legacy_graph(url, episodes, GROUP)
    await write_foreign_data(url, GROUP)


_WORDS = [
    f"{one}{other}"
    for one in ("re", "un", "pre", "sub", "over")
    for other in (
        "cart",
        "tax",
        "parser",
        "queue",
        "cache",
        "token",
        "render",
        "index",
        "mail",
        "route",
        "login",
        "price",
        "stock",
        "report",
        "export",
        "batch",
        "lock",
        "retry",
        "schema",
        "view",
    )
]


def _write_archives(folder: Path, sessions: int, turns: int) -> list[LegacyEpisode]:
    """Write an archive per session; return a summary of each, without an id."""
    generator = random.Random(0)
    return [_write_session(folder, number, turns, generator) for number in range(sessions)]


def _write_session(
    folder: Path, number: int, turns: int, generator: random.Random
) -> LegacyEpisode:
    session, start = f"session{number}", RUN - timedelta(days=400) + timedelta(hours=number)
    files = [f"src/{generator.choice(_WORDS)}_{generator.randrange(400)}.py" for _ in range(4)]
    rows, prompts = list[str](), list[str]()
    for turn in range(turns):
        at, native = start + timedelta(minutes=turn), f"{session}-{turn}"
        prompt = (
            f"Change the {' and the '.join(generator.choices(_WORDS, k=6))} in {files[turn % 4]}"
        )
        prompts.append(prompt)
        rows += [
            row("user", prompt, f"{native}-u", at),
            tool_call(f"{native}-c", "Edit", at, file_path=f"/home/dev/shop/{files[turn % 4]}"),
            tool_result(f"{native}-r", f"{native}-c", "The file has been updated.", at),
            row("assistant", f"Done: the {generator.choice(_WORDS)} is tested", f"{native}-a", at),
        ]
    rows = [text.replace('"s1"', f'"{session}"') for text in rows]
    write_archive(folder / f"{session}.jsonl", rows)
    facts = " ".join(f"`{one}` was changed with `{other}`." for one, other in pairwise(files))
    summary = f"The user asked to {prompts[0].lower()}, then to {prompts[-1].lower()}. {facts}"
    ended = start + timedelta(minutes=turns)
    of_session = LegacySession("claude_code", session, start, ended, summary, tuple(files))
    return replace(legacy_episode(of_session, LegacyStyle.NOWHERE), reference_time=RUN)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=10, help="of each session")
    given = parser.parse_args()
    logging.disable(logging.ERROR)
    passed = [measure(name, given.sessions, given.turns) for name in given.graphs]
    sys.exit(not all(passed))
