"""Write the communities of a plan, batch by batch, one transaction each.

A build may be killed at any point and repeated: what is written then counts as kept.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from turnetl.base.graph_model import Community, CommunityBatch, Lease
from turnetl.base.model import GroupId, Vector
from turnetl.graph.port import GraphStore
from turnetl.ingestion.commit import while_busy
from turnetl.ingestion.community_report import GroupCommunities
from turnetl.summaries.communities.plan import CommunityInput, CommunityPlan
from turnetl.summaries.communities.port import CommunityWriter


@dataclass(frozen=True, slots=True)
class CommunityBuild:
    """What a build needs, but for the plan."""

    store: GraphStore
    writer: CommunityWriter
    """Names and summarises the communities."""
    embed: Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]
    """Embeds names with the embedder of the group."""
    clock: Callable[[], datetime]
    """Returns the current time."""
    lease_ttl: timedelta
    is_out_of_time: Callable[[], bool]
    """Whether no further batch may be begun."""
    batch: int = 32
    """Communities of a transaction: a model describes them in a few concurrent requests."""
    retry_delay: float = 0.5
    """Seconds before the first retry of a batch without a response; doubled with each retry."""


def planned(plan: CommunityPlan) -> GroupCommunities:
    """Return the report on a plan before anything of it is done."""
    return GroupCommunities(
        plan.group,
        kept=len(plan.kept),
        to_write=len(plan.missing),
        to_remove=len(plan.stale),
    )


async def write_communities(
    build: CommunityBuild,
    lease: Lease,
    plan: CommunityPlan,
    progress: Callable[[GroupCommunities], None],
) -> None:
    """Write the communities of a plan until all are written or the time is up.

    Args:
        build: how.
        lease: of the group, held since before the plan was made.
        plan: of the group.
        progress: called with the report so far after each batch.

    Raises:
        RunStopped: the budget is used up; what was written stays.
        GraphBusy: the graph stopped responding.
        GraphUnusable: another run took the group over.
    """
    done = planned(plan)
    for removed, batch in plan.batches(build.batch):
        if build.is_out_of_time():
            return
        written = await _described(build, plan.group, batch)
        await _write(build, lease, CommunityBatch(removed, tuple(written)))
        done = replace(
            done, written=done.written + len(written), removed=done.removed + len(removed)
        )
        progress(done)


async def _described(
    build: CommunityBuild, group: GroupId, batch: Sequence[CommunityInput]
) -> list[Community]:
    texts = await build.writer.describe(batch)
    vectors = await build.embed([text.name for text in texts]) if texts else ()
    now = build.clock()
    return [
        Community(
            uuid=community.uuid,
            group_id=group,
            name=text.name,
            summary=text.summary,
            created_at=now,
            embedding=vector,
            members=tuple(sorted(member.uuid for member in community.members)),
        )
        for community, text, vector in zip(batch, texts, vectors, strict=True)
    ]


async def _write(build: CommunityBuild, lease: Lease, batch: CommunityBatch) -> None:
    await while_busy(
        lambda: build.store.write_communities(lease, batch, now=build.clock(), ttl=build.lease_ttl),
        retry_delay=build.retry_delay,
    )
