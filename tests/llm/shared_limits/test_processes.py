"""Real processes that share limits, and a provider that rejects what is above them."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.shared_limits.worker_program import Work, WorkerSpec, command
from tests.servers.faults import RequestCap
from tests.servers.provider import FakeProvider

pytestmark = pytest.mark.full

MINUTE, WINDOW = 4.0, 7.0
"""Seconds: the provider's minute, and that of the workers, which leaves room for a slow machine."""
PER_MINUTE = 30
CONCURRENCY = 6


@pytest.fixture(params=["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def spec(request: pytest.FixtureRequest, provider: FakeProvider, tmp_path: Path) -> WorkerSpec:
    provider.cap = RequestCap(PER_MINUTE, MINUTE, time.monotonic)
    is_file = request.param == "sqlite"
    return WorkerSpec(
        store=str(tmp_path / "limits.sqlite" if is_file else request.getfixturevalue("neo4j_url")),
        base_url=provider.base_url("openai-compatible"),
        limits=(PER_MINUTE, None, CONCURRENCY),
        window=WINDOW,
        requests=25,
        at_once=8,
    )


@contextmanager
def running(spec: WorkerSpec) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(command(spec), stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def finished(process: "subprocess.Popen[str]") -> Work:
    """Wait for a worker."""
    output, _ = process.communicate()
    assert process.returncode == 0
    return Work(**json.loads(output))


def test_two_processes_together_stay_within_the_limits(
    spec: WorkerSpec, provider: FakeProvider
) -> None:
    with running(spec) as one, running(spec) as other:
        done = [finished(one), finished(other)]
    assert [work.answered for work in done] == [25, 25]
    assert len(provider.requests) == 50
    assert provider.max_in_flight <= CONCURRENCY


def test_a_process_goes_on_after_another_one_was_killed(
    spec: WorkerSpec, provider: FakeProvider
) -> None:
    provider.hold = threading.Event()
    few = replace(spec, requests=20, limits=(PER_MINUTE, None, 2))
    with running(few) as killed:
        for _ in range(2):
            provider.arrived.acquire()
        # It has all slots.
        killed.kill()
        killed.wait()
        provider.hold.set()
        with running(few) as other:
            work = finished(other)
    assert (work.answered, work.rejected) == (20, 0)
