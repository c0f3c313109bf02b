"""Limits that processes share: how much of them is used, the most in any minute, cost per request.

    python -m benchmarks.shared_limits [--minutes 2.4] [--minute 60] [--calls 3000]

Each case has a provider of its own that records when requests arrive; its workers are processes
that send as fast as their limits admit. Four cases run at the same time: they mostly wait. Whole
windows of the limiter count, from the first request on. `--minute 12` accelerates: the provider's
minute and the limiter's window are a fifth, while blocks and exchanges stay as they are, so that
less is used than in a real minute.

Then one process sends without a rate limit, with limits of its own and with shared ones: CPU and
wall time per request, the best of five runs of each. On a machine that others use at the same time,
these times differ more between runs than between the limits.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import provider
from benchmarks.cost import at_least, at_most
from benchmarks.provider import ProviderCounts
from tests.llm.shared_limits.worker_program import Work, WorkerSpec, command
from tests.servers import neo4j_server
from turnetl.llm.limiter import WINDOW

MIN_USED = 0.9
"""Share of a limit."""
MAX_SLOWDOWN = 0.05
"""Share of the wall time of a request, of one process."""
REQUESTS, TOKENS, CONCURRENCY = 600, 60_000, 16
LATENCY = 0.4
"""Seconds."""
CHARACTERS = 4_000
UNLIMITED = 10**8
WARMUP = 500
MINUTE = 60.0
_CASES_AT_ONCE = 4
"""A request that arrives more than a second late, because the machine is busy, counts in another
minute than for its limiter."""


@dataclass(frozen=True)
class Case:
    """Workers with the same limits."""

    store: str
    """`own`, `sqlite` or `neo4j`."""
    limit: str
    """Which limit is reached: `requests`, `tokens` or `concurrency`."""
    processes: int


CASES = (
    Case("own", "requests", 1),
    *(Case("sqlite", "requests", processes) for processes in (1, 2, 4)),
    *(Case("neo4j", "requests", processes) for processes in (2, 4)),
    Case("sqlite", "tokens", 2),
    Case("sqlite", "concurrency", 2),
)


def limits(case: Case) -> tuple[int | None, int | None, int]:
    match case.limit:
        case "requests":
            return REQUESTS, None, CONCURRENCY
        case "tokens":
            return None, TOKENS, CONCURRENCY
        case _:
            return UNLIMITED, None, 2


def place(store: str, neo4j: str, folder: Path) -> str:
    return {"own": "", "sqlite": str(folder / "limits.sqlite"), "neo4j": neo4j}[store]


def run_workers(spec: WorkerSpec, processes: int) -> list[Work]:
    """Start the workers and wait for them."""
    started = [
        subprocess.Popen(command(spec), stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    outputs = [process.communicate()[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    return [Work(**json.loads(output)) for output in outputs]


def requests_of(case: Case, minutes: float, minute: float) -> int:
    """Return how many requests each worker sends."""
    per_minute = {
        "requests": float(REQUESTS),
        "tokens": TOKENS / (CHARACTERS / 4),
        "concurrency": 2 * minute / LATENCY,
    }[case.limit]
    return round(per_minute * minutes / case.processes)


def use(case: Case, counts: ProviderCounts, minute: float) -> tuple[float, float]:
    """Return the share of the limit that was used, and the most of it in any minute."""
    arrivals = sorted((at, tokens) for at, tokens in counts.arrivals)
    amounts = [(at, tokens if case.limit == "tokens" else 1.0) for at, tokens in arrivals]
    limit = {"requests": REQUESTS, "tokens": TOKENS, "concurrency": 2 * minute / LATENCY}
    begin, window = amounts[0][0], WINDOW * minute / MINUTE
    # Whole windows: one that begins with all tokens would otherwise count twice.
    seconds = (amounts[-1][0] - begin) // window * window
    used = sum(amount for at, amount in amounts if at < begin + seconds) / seconds * minute
    return used / limit[case.limit], _most(amounts, minute)


def _most(amounts: Sequence[tuple[float, float]], minute: float) -> float:
    most = total = 0.0
    first = 0
    for at, amount in amounts:
        total += amount
        while amounts[first][0] <= at - minute:
            total -= amounts[first][1]
            first += 1
        most = max(most, total)
    return most


def run_case(case: Case, neo4j: str, minutes: float, minute: float) -> ProviderCounts:
    with (
        provider.running(latency={"other": LATENCY}) as process,
        tempfile.TemporaryDirectory() as folder,
    ):
        spec = WorkerSpec(
            store=place(case.store, neo4j, Path(folder)),
            base_url=process.base_url(),
            limits=limits(case),
            window=WINDOW * minute / MINUTE,
            requests=requests_of(case, minutes, minute),
            at_once=4 * CONCURRENCY,
            characters=CHARACTERS,
            name=f"{case.limit}-{case.processes}",
        )
        run_workers(spec, case.processes)
        return process.counts()


def print_case(case: Case, counts: ProviderCounts, minute: float) -> bool:
    share, most = use(case, counts, minute)
    print(f"\n{case.store}, {case.processes} processes, limit of {case.limit}")
    passed = at_least("of the limit is used", share, MIN_USED)
    limit = {"requests": float(REQUESTS), "tokens": float(TOKENS)}.get(case.limit)
    if limit is not None:
        passed &= at_most(f"{case.limit} in any {minute:g} s", most, limit)
    return at_most("requests in flight", counts.most_in_flight, limits(case)[2]) and passed


def measure_use(neo4j: str, minutes: float, minute: float) -> bool:
    cases = [case for case in CASES if case.store != "own" or minute == MINUTE]
    run = partial(run_case, neo4j=neo4j, minutes=minutes, minute=minute)
    with ThreadPoolExecutor(_CASES_AT_ONCE) as pool:
        results = list(pool.map(run, cases))
    passed = [print_case(case, counts, minute) for case, counts in zip(cases, results, strict=True)]
    return all(passed)


def measure_cost(neo4j: str, calls: int) -> bool:
    """Compare one process with limits of its own and with shared ones."""
    best: dict[str, tuple[float, float]] = {}
    with provider.running() as process, tempfile.TemporaryDirectory() as folder:
        for store in ("own", "sqlite", "neo4j") * 5:
            spec = WorkerSpec(
                store=place(store, neo4j, Path(folder)),
                base_url=process.base_url(),
                limits=(UNLIMITED, None, CONCURRENCY),
                window=WINDOW,
                requests=calls,
                at_once=CONCURRENCY,
                characters=CHARACTERS,
                warmup=WARMUP,
            )
            (work,) = run_workers(spec, 1)
            cost = work.cpu_seconds / calls * 1e3, work.seconds / calls * 1e3
            best[store] = _lowest(best.get(store, cost), cost)
    print(f"\n{calls:,} requests of {CHARACTERS:,} characters, {CONCURRENCY} in flight: ms each")
    for store, (cpu, wall) in best.items():
        print(f"  {cpu:8.3f} CPU {wall:8.3f} wall  {store}")
    own = best["own"][1]
    slower = [
        at_most(f"slower than own limits: {store}", best[store][1] / own - 1, MAX_SLOWDOWN)
        for store in ("sqlite", "neo4j")
    ]
    return all(slower)


def _lowest(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), min(one[1], other[1])


@contextmanager
def running_neo4j() -> Iterator[str]:
    """Yield the URL of a server."""
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        yield opened.enter_context(neo4j_server.running(Path(folder))).url


def main(options: argparse.Namespace) -> bool:
    with running_neo4j() as url:
        is_used = measure_use(url, options.minutes, options.minute) if options.minutes else True
        return (measure_cost(url, options.calls) if options.calls else True) and is_used


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.4)
    parser.add_argument("--minute", type=float, default=MINUTE)
    parser.add_argument("--calls", type=int, default=3000)
    sys.exit(not main(parser.parse_args()))
