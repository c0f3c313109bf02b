"""What tables and a graph hold, without what identifies the run that made them."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from turnetl import wiring
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Usage
from turnetl.settings import Settings

NEVER = datetime(2000, 1, 1, tzinfo=UTC)


def stored_tables(lake: Path) -> dict[str, bytes]:
    """Return the content of every table by its path in the lake."""
    return {
        str(path.relative_to(lake)): path.read_bytes() for path in sorted(lake.rglob("*.parquet"))
    }


async def stored_graph(lake: Path, graph: str | None = None) -> list[GroupContents]:
    """Return what a graph holds of each group; without a URL, the embedded one of the lake."""
    async with wiring.store(Settings(lake=lake, graph=graph), write=False) as store:
        return [_without_run(await store.load(group)) for group in sorted(await store.groups())]


def _without_run(contents: GroupContents) -> GroupContents:
    return replace(
        contents,
        entities=tuple(
            sorted(
                (replace(entity, created_at=NEVER) for entity in contents.entities),
                key=lambda entity: entity.uuid,
            )
        ),
        facts=tuple(
            sorted(
                (
                    replace(fact, created_at=NEVER, expired_at=fact.expired_at and NEVER)
                    for fact in contents.facts
                ),
                key=lambda fact: fact.uuid,
            )
        ),
        receipts=tuple(
            replace(receipt, run_id="", committed_at=NEVER, usage=Usage())
            for receipt in contents.receipts
        ),
    )
