"""A Ladybug file as a killed writer leaves it: its log is cut or torn at a byte.

Run as a program, it commits the turns of `history` and is killed without closing the file. With a
limit it closes the file, and no file can become longer:

python -m tests.graph.log_states PATH [LIMIT]
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.builders import GROUP
from tests.graph.crashes import kill
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.graph_model import GroupContents, GroupVersion
from turnetl.graph.ladybug.log import active_log
from turnetl.graph.open import open_graph

if sys.platform != "win32":
    import resource

TAILS = ("missing", "zeros", "ones", "noise", "older")
"""What the bytes after a cut are: a kill leaves none, a power cut leaves any."""


@dataclass(frozen=True)
class Recording:
    """The files of a killed writer."""

    database: bytes
    log: bytes
    ends: tuple[int, ...]
    """Size of the log after the schema, after the lease, and after each turn."""

    def turns(self, cut: int) -> int:
        """Return how many turns were committed when the log had `cut` bytes."""
        return sum(end <= cut for end in self.ends[2:])

    def write(self, path: Path, cut: int, tail: str = "missing") -> None:
        """Write the files with a log that is damaged from the byte `cut` on."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.database)
        size = len(self.log) - cut
        active_log(path).write_bytes(self.log[:cut] + self._tail(tail, cut)[:size])

    def _tail(self, tail: str, cut: int) -> bytes:
        size = len(self.log) - cut
        match tail:
            case "zeros":
                return bytes(size)
            case "ones":
                return b"\xff" * size
            case "noise":
                return np.random.default_rng(cut).bytes(size)
            case "older":
                return self.log
            case _:
                return b""


def record(folder: Path) -> Recording:
    """Run the program and return the files that it left."""
    path = folder / "graph.lbug"
    program = subprocess.run(
        [sys.executable, "-m", "tests.graph.log_states", path], stdout=subprocess.PIPE, check=False
    )
    ends = tuple(json.loads(program.stdout))
    return Recording(path.read_bytes(), active_log(path).read_bytes(), ends)


async def rerun(url: str) -> tuple[GroupContents, GroupVersion]:
    """Commit all turns that the graph lacks, and return what it then holds."""
    store = await open_graph(url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:2", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    for change in history():
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    await store.release(lease)
    contents, version = await store.load(GROUP), (await store.versions())[GROUP]
    await store.close()
    return contents, version


def interrupt_merge(path: Path, limit: int) -> None:
    """Run the program so that it cannot complete the merge of its log into the file."""
    command = [sys.executable, "-m", "tests.graph.log_states", str(path), str(limit)]
    subprocess.run(command, check=False, capture_output=True)


async def _commit_until_killed(path: Path, limit: int | None) -> None:
    sizes = []
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    sizes.append(active_log(path).stat().st_size)
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    sizes.append(active_log(path).stat().st_size)
    for change in history():
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
        sizes.append(active_log(path).stat().st_size)
    sys.stdout.write(json.dumps(sizes))
    sys.stdout.flush()
    if limit is None:
        kill()
    elif sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        await store.close()


def record_starts(log: bytes) -> Iterator[int]:
    """Yield the offset of each record of a complete log."""
    offset = 25
    while offset < len(log):
        yield offset
        offset += 16 + int.from_bytes(log[offset : offset + 8], "little")
    assert offset == len(log)


if __name__ == "__main__":
    _, file, *limits = sys.argv
    asyncio.run(_commit_until_killed(Path(file), int(limits[0]) if limits else None))
