"""How long hooks of agents take, and how often what they say is about the prompt.

    python -m benchmarks.hooks [--turns N ...] [--folder FOLDER] [--lake FOLDER] [ARCHIVES]

Times are from the start of the process that an agent starts to its end, p50 and p95, beside the CPU
time of the process, which other processes lengthen less: *alone*, when it opens the index itself,
and *open*, when `turnetl mcp` runs and answers over its socket. The index is that of
`benchmarks.index`. With `--folder`, the indexes stay there.

Relevance is measured with the prompts of `hook_prompts.tsv`, which were not looked at while the
limits were chosen, and with the questions that may be looked at, on an index of the archives
(`--lake` keeps it): the share of prompts about subjects that never came up for which a hook is
silent; of prompts with a past, the share with an answer; and of those, that with the right turn.
"""

import argparse
import asyncio
import csv
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.answer_times import measure_sizes
from benchmarks.index import QUERIES, MultipliedGraph
from benchmarks.index_arguments import compile_package
from benchmarks.mcp import Server
from benchmarks.questions import ABSENT, read_questions
from benchmarks.retrieval import read_corpus
from tests import real_archives
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.evaluation.intervals import wilson
from turnetl.index.conditions import Selection
from turnetl.ingestion import plan
from turnetl.lake import Lake
from turnetl.mcp.hooks import quoted_turns
from turnetl.pipeline.index import OpenIndex
from turnetl.settings import Settings

CALLS = 30
SIZES = (10_000, 100_000)
ALONE, OPEN = 0.4, 0.1
"""Seconds that a hook may take at the 95th percentile: alone, and with an open server."""
PROMPTS = Path(__file__).with_name("hook_prompts.tsv")
_SEEN = ("match", "tune", "held")
_NO_TURN = "-"


@dataclass(frozen=True)
class Prompt:
    part: str
    text: str
    turns: frozenset[str]
    """Native ids of the turns that it is about; none: its subject never came up."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, add_help=False)
    arguments.add_argument("--relevance", action="store_true", help="measure no times")
    arguments.add_argument("--lake", type=Path, help="a folder to keep; default: a temporary one")
    given, rest = arguments.parse_known_args()
    if real_archives.ARCHIVES.is_dir():
        with nullcontext(given.lake) if given.lake else tempfile.TemporaryDirectory() as folder:
            asyncio.run(relevance(Settings(lake=Path(folder))))
    compile_package()
    first_recall()
    if not given.relevance:
        sys.argv[1:] = rest
        heading = f"{'':8}{'p50':>8}{'p95':>8}{'CPU p50':>9}  ms"
        measure_sizes(__doc__, SIZES, heading, OPEN, measure)


def first_recall() -> None:
    """Print commands and seconds from a new home folder to what an agent is told first."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(real_archives.SAMPLES, home / ".claude" / "projects" / "samples")
        environment = {"HOME": folder, "PATH": os.defpath}
        started = time.perf_counter()
        program = str(Path(sys.executable).with_name("turnetl"))
        for words in (
            ("backfill", str(home / ".claude" / "projects")),
            ("install", "claude-code", "--hooks", "--yes"),
        ):
            subprocess.run(
                [program, *words], env=environment, cwd=home, check=True, capture_output=True
            )
            print(f"{time.perf_counter() - started:6.1f} s  turnetl {words[0]}")
        hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
        command = hooks["SessionStart"][0]["hooks"][0]["command"]
        given = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "new"}
        given |= {"transcript_path": "", "cwd": "/home/dev/bookshop"}
        answer = subprocess.run(
            shlex.split(command),
            input=json.dumps(given),
            env=environment,
            cwd=home,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        told = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
        print(f"{time.perf_counter() - started:6.1f} s  Claude Code is told {len(told)} characters")
        server = json.loads((home / ".claude.json").read_text())["mcpServers"]["turnetl"]
        start = ["env", f"HOME={folder}", server["command"], *server["args"]]
        with closing(Server(command=start)) as asked:
            found = asked.call("search", {"query": "why SQLite's FTS5 instead of Meilisearch"})
        print(
            f"{time.perf_counter() - started:6.1f} s  a client finds {len(found.text)} characters"
        )


def measure(_graph: MultipliedGraph, _size: int, lake: Path) -> Iterator[float]:
    """Print a row alone and one with an open server; yield the p95 of the latter."""
    print_times("alone", times(lake))
    with closing(Server(lake)) as server:
        server.call("search", {"query": QUERIES[0]})
        found = times(lake)
        print_times("open", found)
        yield statistics.quantiles([wall for wall, _ in found], n=20)[-1]


def times(lake: Path) -> list[tuple[float, float]]:
    """Return seconds from start to end, and of CPU, of calls with different prompts."""
    program = str(Path(sys.executable).with_name("turnetl"))
    command = [program, "hook", "prompt", "--agent", "claude-code", "--all-projects"]
    found = []
    for number in range(CALLS):
        prompt = f"{QUERIES[number % len(QUERIES)]} {number}"
        given = json.dumps({"session_id": "s", "cwd": str(lake), "prompt": prompt}).encode()
        before, started = _cpu(), time.perf_counter()
        subprocess.run(
            [*command, "--lake", str(lake)], input=given, check=True, stdout=subprocess.DEVNULL
        )
        found.append((time.perf_counter() - started, _cpu() - before))
    return found


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_times(name: str, found: Sequence[tuple[float, float]]) -> None:
    walls, cpus = zip(*found, strict=True)
    p95 = statistics.quantiles(walls, n=20)[-1]
    columns = (statistics.median(walls), p95, statistics.median(cpus))
    print(f"{name:8}" + "".join(f"{1e3 * one:8.0f}" for one in columns))


def read_prompts() -> Iterator[Prompt]:
    """Yield the prompts that were not looked at, then the questions that may be."""
    with PROMPTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            turns = frozenset({row["turn"]} - {_NO_TURN})
            yield Prompt("unseen", row["prompt"], turns)
    for question in read_questions():
        if question.part in _SEEN:
            turns = frozenset() if question.kind == ABSENT else question.turns
            yield Prompt("seen", question.text, turns)


async def relevance(settings: Settings) -> None:
    """Print how often a hook is silent, and how often what it says is about the prompt."""
    projects = [str(path) for path in sorted(real_archives.ARCHIVES.iterdir()) if path.is_dir()]
    if not wiring.has_index(settings):
        options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
        await pipeline.backfill(projects, settings, options, now)
    corpus = read_corpus(Lake(settings.lake))
    prompts = list(read_prompts())
    async with wiring.embedder(settings) as embedder:
        with closing(wiring.search_index(settings, embedder)) as index:
            opened = OpenIndex(index, embedder)
            answers = [await quoted_turns(opened, Selection(), one.text) for one in prompts]
    found = list(zip(prompts, [[hit.turn_id for hit in hits] for hits in answers], strict=True))
    for part in ("unseen", "seen"):
        foreign = [turns for one, turns in found if one.part == part and not one.turns]
        related = [(one, turns) for one, turns in found if one.part == part and one.turns]
        said = [(one, turns) for one, turns in related if turns]
        right = [any(corpus.names[turn] & one.turns for turn in turns) for one, turns in said]
        print(f"{part}: without a past, silent {share([not turns for turns in foreign])}")
        print(f"{part}: with a past, answered {share([bool(turns) for _, turns in related])}")
        print(f"{part}: of these with the right turn {share(right)}")


def share(marks: Sequence[bool]) -> str:
    low, high = wilson(sum(marks), len(marks))
    return f"{sum(marks)} of {len(marks)} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
