"""Commit turns, undo the last, rewrite the file and merge a log; memory is dirty before each.

Copies of the file after each are left beside it.

python -m tests.graph.write_program PATH
"""

import asyncio
import ctypes
import sys
from contextlib import closing
from pathlib import Path

from tests.builders import GROUP
from tests.graph.reversals import revert
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.graph.ladybug.database import connect, open_database
from turnetl.graph.open import open_graph, rewrite_graph

DIRT = 0x5A
_M_PERTURB = -6


def make_dirty() -> None:
    """Let glibc fill memory that it hands out with `DIRT`."""
    ctypes.CDLL(None).mallopt(_M_PERTURB, DIRT ^ 0xFF)


async def write(path: Path) -> None:
    make_dirty()
    store = await open_graph(f"ladybug://{path}", user="", password="")
    make_dirty()
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in history():
        make_dirty()
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    await revert(store, lease, history()[-1])
    make_dirty()
    await store.close()


def keep(path: Path, step: str) -> None:
    path.with_suffix(f".{step}").write_bytes(path.read_bytes())


def merge(path: Path) -> None:
    with closing(open_database(path, write=True)) as database, closing(connect(database)) as opened:
        opened.execute("CREATE (:Episodic {uuid: 'one'})")
        make_dirty()
        opened.execute("CHECKPOINT")
        keep(path, "merged")


if __name__ == "__main__":
    path = Path(sys.argv[1])
    asyncio.run(write(path))
    keep(path, "written")
    make_dirty()
    rewrite_graph(f"ladybug://{path}")
    keep(path, "rewritten")
    merge(path)
