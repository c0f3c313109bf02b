"""Archives into a graph, and three questions about them, with the Python API.

python examples/python_api.py data/archives lake
"""

import asyncio
import sys
from pathlib import Path

import turnetl


async def main(archives: Path, lake: Path) -> None:
    settings = turnetl.Settings(lake=lake)

    report = await turnetl.backfill(archives, settings)
    print(f"{report.ingested.committed} turns committed")

    print("\nWhy integer cents?")
    for hit in await turnetl.search("why integer cents rather than Decimal", settings, limit=2):
        print(f"  {hit.turn_id[:8]} {Path(hit.archive).name}:{hit.first_line}")

    print("\nWhat was behind KeyError: 'price'?")
    fixes = await turnetl.fix("KeyError: 'price'", settings)
    for occurrence in fixes.value[0].occurrences:
        print(f"  resolved {occurrence.resolved_at:%d %B %Y}: {occurrence.evidence[-1].text}")

    print("\nWhich turns changed cart.py?")
    file = await turnetl.file("cart.py", settings)
    for stated in file.value.turns:
        print(f"  {stated.turn.id} {stated.turn.prompt[:50]}")


# A large backfill starts processes, which import this script again.
if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
