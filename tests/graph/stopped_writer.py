"""A writer that is stopped inside an open transaction, until it gets SIGCONT.

python -m tests.graph.stopped_writer URL STATEMENT TIMEOUT
"""

import asyncio
import sys

from tests.builders import GROUP
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, stop
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.errors import TurnetlError

OWNER = "elsewhere:1234:5678abcd"


async def commit_until_stopped(url: str, statement: int, timeout_seconds: float) -> None:
    """Acquire the group and commit a turn; stop before the nth statement of both."""
    store = crashing_store(url, Countdown(statement, stop), timeout_seconds=timeout_seconds)
    lease = await store.acquire(
        GROUP, PROFILE, owner=OWNER, now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    first = history()[0]
    try:
        await store.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    except TurnetlError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
    await store.close()


if __name__ == "__main__":
    asyncio.run(commit_until_stopped(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
