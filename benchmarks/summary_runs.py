"""Decisions about summaries: the same in one run, in ten runs, and in runs that are killed.

    python -m benchmarks.summary_runs [--extractor structural] [--extractor llm] [--turns 100]
        [--runs 10] [--kills 20] [--refreshes 200] [--seed 0] [ARCHIVES ...]

All turns with a time are ingested as one group into an embedded graph: in one run; in ten runs with
`--limit`; and in runs of which 20 are killed. The structural extractor has summaries by rules. With
`llm`, a provider in a process of its own (`benchmarks.summary_responders`) extracts many facts
about few entities, so that their summaries are requested: at least `--refreshes` of them. A run is
killed after a change of a file whose number is drawn from the seed, wherever the command is then:
while it opens the graph, within a transaction, or between two; or, with a model, while it stores a
response. The next run continues, and a last one ends undisturbed.

The reasons and the records of each turn must be equal, and the entities with their summaries and
the facts at the end. With a model, so must be the requests. Ten runs send none of them twice; runs
that are killed only those whose response was not stored yet, and at the end the journal has all of
them: the same turns in a new graph send none. What ends of runs write depends on where a run ends:
it is not compared, and with a model no run writes it. Needs Linux and a C compiler. The default
archives are those of tests/real_archives.py.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cost import at_least
from benchmarks.decided_summaries import (
    DecidedSummaries,
    SentRequests,
    compare,
    compare_requests,
    decided_summaries,
)
from benchmarks.provider import ProviderProcess, running
from tests import real_archives
from tests.crashes import faults
from tests.crashes.points import CHANGED
from turnetl import pipeline
from turnetl.base.model import GroupId
from turnetl.settings import Settings

GROUP = GroupId("all")
SHARE = 0.33
"""Of the changes of a whole run, those that the killed runs get together on average: they must not
complete the group before the last kill."""
PROGRAM = """
import os, sys
from pathlib import Path
from tests.crashes.faults import Action, FaultPoints
from turnetl.cli import main
action, folder, point, log = sys.argv[1:5]
sys.argv[1:5] = []
written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if log else -1
FaultPoints().arm(Action[action], Path(folder), int(point), log=written)
main()
"""
"""The command, with its changes counted or with a kill at one of them."""


@dataclass(frozen=True)
class IngestPlace:
    """A lake and an embedded graph of their own, in a folder that exists not yet."""

    folder: Path
    library: Path
    """Of the fault points."""
    extractor: str
    provider: ProviderProcess
    """Of the extractor with a model."""
    graph: str = "graph.lbug"

    @property
    def url(self) -> str:
        return f"ladybug://{self.folder / self.graph}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings of the extractor."""
        if self.extractor == "structural":
            return {"TURNETL_EXTRACTOR": "structural"}
        return {
            "TURNETL_EXTRACTOR": self.extractor,
            "TURNETL_LLM__PROVIDER": "openai-compatible",
            "TURNETL_LLM__BASE_URL": self.provider.base_url(),
            "TURNETL_LLM__MODEL": "canned",
            "TURNETL_LLM__API_KEY": "key",
            "TURNETL_SUMMARIES__FLUSH": "false",
        }

    def ingest(
        self, *options: str, action: str = "COUNT", point: int = 0, log: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own; it may be killed."""
        fault = (action, str(self.folder), str(point), log)
        lake = ("--lake", str(self.folder / "lake"), "--graph", self.url)
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, *fault, "ingest", "--json", *lake, *options],
            env={
                **os.environ,  # noqa: TID251 - of the child
                **faults.environment(self.library),
                **self.environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode not in (0, -signal.SIGKILL):
            raise AssertionError(f"exit code {process.returncode}: {process.stderr}")
        return process

    def sent(self) -> SentRequests:
        """Return the requests since the last call."""
        counts = self.provider.counts()
        self.provider.reset()
        return SentRequests(counts.bodies, counts.requests["entity_summaries"])

    def committed(self, *options: str) -> int:
        """Run the command to its end; return how many turns it committed."""
        return int(json.loads(self.ingest(*options).stdout)["committed"])

    async def recorded(self) -> DecidedSummaries:
        return await decided_summaries(self.url, GROUP)


def ingest_in_runs(place: IngestPlace, turns: int, runs: int) -> int:
    """Ingest the turns in runs of equal size; return how many there were."""
    size = -(-turns // runs)
    done = 0
    while place.committed("--limit", str(size)):
        done += 1
    return done


def ingest_with_kills(place: IngestPlace, changes: int, kills: int, seed: int) -> int:
    """Ingest in runs that are killed, and one that is not; return how many turns that one commits.

    Args:
        place: where.
        changes: of files, that a run over all turns makes.
        kills: how many runs are killed.
        seed: of the numbers of the changes after which they are.
    """
    drawn = random.Random(seed)
    most = max(int(2 * SHARE * changes / kills), 1)
    for number in range(1, kills + 1):
        point = drawn.randint(1, most)
        if place.ingest(action="KILL", point=point).returncode == 0:
            raise AssertionError(f"run {number} ended before it made {point} changes")
    return place.committed()


async def measure(
    options: argparse.Namespace, folder: Path, extractor: str, provider: ProviderProcess
) -> bool:
    """Ingest in each way, print the figures, and return whether all decisions are equal."""
    settings = Settings(lake=folder / "lake", group=GROUP)
    pipeline.parse_archives(options.archives, settings)
    pipeline.filter_turns(settings)
    library, provided = faults.build(folder), (extractor, provider)
    places = [IngestPlace(folder / name, library, *provided) for name in ("one", "many", "killed")]
    for place in places:
        shutil.copytree(settings.lake, place.folder / "lake")
    one, many, killed = places
    log = folder / "points"
    one.sent()
    turns = json.loads(one.ingest(log=str(log)).stdout)["committed"]
    requests = one.sent()
    lines = log.read_text(errors="replace").splitlines()
    changes = sum(line.startswith(CHANGED) for line in lines)
    runs = ingest_in_runs(many, turns, options.runs)
    requests_of_many = many.sent()
    last = ingest_with_kills(killed, changes, options.kills, options.seed)
    requests_of_killed = killed.sent()
    expected = await one.recorded()
    print(
        f"{extractor}: {turns} turns, {expected.decisions} decisions, {len(expected.entities)} "
        f"entities, of which {sum(map(bool, expected.entities.values()))} have a summary\n"
        f"one run ({changes:,} changes of files); {runs} runs; {options.kills} killed runs, which "
        f"committed {turns - last} turns, and one that committed {last}"
    )
    equal = [
        compare(expected, await many.recorded(), f"{runs} runs"),
        compare(expected, await killed.recorded(), f"{options.kills} kills"),
    ]
    if extractor != "structural":
        in_flight = options.kills * settings.llm.concurrency
        equal += [
            at_least("requests for summaries", requests.for_summaries, 1),
            at_least("summaries that were requested", expected.requested, options.refreshes),
            compare_requests(requests, requests_of_many, f"{runs} runs", most_repeated=0),
            compare_requests(
                requests, requests_of_killed, f"{options.kills} kills", most_repeated=in_flight
            ),
            again_in_a_new_graph(killed),
        ]
    return all([*equal, at_least("turns", turns, options.turns), runs == options.runs])


def again_in_a_new_graph(place: IngestPlace) -> bool:
    """Ingest the same turns into a new graph; return whether the journal has every response."""
    again = replace(place, graph="again.lbug")
    again.committed()
    sent = again.sent().bodies.total()
    print(f"  the same turns in a new graph: {sent} requests")
    return not sent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archives", nargs="*", default=[str(real_archives.ARCHIVES_OR_SAMPLES)])
    parser.add_argument("--extractor", action="append", choices=("structural", "llm", "hybrid"))
    parser.add_argument("--turns", type=int, default=100, help="how many there must be at least")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not faults.AVAILABLE:
        sys.exit(faults.MISSING)
    logging.disable(logging.ERROR)
    equal = True
    with running(responders="benchmarks.summary_responders") as provider:
        for extractor in options.extractor or ("structural", "llm"):
            with tempfile.TemporaryDirectory() as folder:
                equal &= asyncio.run(measure(options, Path(folder), extractor, provider))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
