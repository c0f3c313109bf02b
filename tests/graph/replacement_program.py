"""Replace the last turn of the sample history, and be killed before a statement.

python -m tests.graph.replacement_program URL STATEMENT
"""

import asyncio
import sys

from tests.builders import GROUP
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, kill
from tests.graph.replacements import latest_extracted_otherwise, replace
from tests.graph.sample_changes import NOW, PROFILE, TTL, history


async def replace_until_killed(url: str, statement: int) -> None:
    healthy = crashing_store(url, Countdown(-1, kill))
    lease = await healthy.acquire(
        GROUP, PROFILE, owner="host:dead", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    await healthy.close()
    store = crashing_store(url, Countdown(statement, kill))
    await replace(store, lease, history()[-1], latest_extracted_otherwise())


if __name__ == "__main__":
    asyncio.run(replace_until_killed(sys.argv[1], int(sys.argv[2])))
