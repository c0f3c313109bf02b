"""Write the communities of a plan, batch by batch, one transaction each.

A build may be killed at any point and repeated: what is written then counts as kept.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import Community, CommunityBatch, Lease
from turnetl.base.model import GroupId, Usage, Vector
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.summaries.communities import CommunityInput, CommunityPlan, CommunityWriter


@dataclass(frozen=True, slots=True)
class GroupCommunities:
    """The communities of one group."""

    group: GroupField
    kept: Annotated[int, described("Communities whose members did not change.")] = 0
    to_write: Annotated[
        int, described("Communities that were missing, or had other members or another writer.")
    ] = 0
    written: Annotated[int, described("Of `to_write`, those that are written.")] = 0
    to_remove: Annotated[int, described("Communities that no longer are any.")] = 0
    removed: Annotated[int, described("Of `to_remove`, those that are removed.")] = 0
    error: Annotated[str | None, described("Error that stopped the group, or null.")] = None
    """None also if the group was not begun."""
    exit_code: int = ExitCode.DONE

    @property
    def is_complete(self) -> bool:
        return self.written == self.to_write and self.removed == self.to_remove


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A build of communities."""

    groups: Annotated[tuple[GroupCommunities, ...], described("The groups, sorted by name.")]
    is_dry_run: Annotated[bool, described("Whether nothing was to be written.", name="dry_run")] = (
        False
    )
    model: Annotated[
        str | None, described("Provider and model that names and summarises; null if rules do.")
    ] = None
    by_rules: Annotated[
        int, described("Communities that the model should have described and rules did.")
    ] = 0
    usage: Annotated[
        Usage,
        described("Usage of the model without responses from the journal; estimated if `dry_run`."),
    ] = field(default_factory=Usage)
    is_out_of_time: Annotated[
        bool, described("Whether `--max-seconds` ended the build.", name="out_of_time")
    ] = False

    @property
    def written(self) -> int:
        """Communities that were written."""
        return sum(group.written for group in self.groups)

    @property
    def missing(self) -> int:
        """Communities that were to be written and were not."""
        return sum(group.to_write - group.written for group in self.groups)


@dataclass(frozen=True, slots=True)
class CommunityBuild:
    """What a build needs, but for the plan."""

    store: GraphStore
    writer: CommunityWriter
    embed: Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]
    """Embeds names with the embedder of the group."""
    run: IngestRun
    is_out_of_time: Callable[[], bool]
    """Whether no further batch may be begun."""
    batch: int = 32
    """Communities of a transaction: a model describes them in a few concurrent requests."""


def planned(plan: CommunityPlan) -> GroupCommunities:
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
) -> GroupCommunities:
    """Write the communities of a plan until all are written or the time is up.

    Args:
        lease: of the group, held since before the plan was made.
        progress: called with the report so far after each batch.
    """
    done = planned(plan)
    for removed, batch in plan.batches(build.batch):
        if build.is_out_of_time():
            break
        written = await _described(build, plan.group, batch)
        await _write(build, lease, CommunityBatch(removed, tuple(written)))
        done = replace(
            done, written=done.written + len(written), removed=done.removed + len(removed)
        )
        progress(done)
    return done


async def _described(
    build: CommunityBuild, group: GroupId, batch: Sequence[CommunityInput]
) -> list[Community]:
    texts = await build.writer.describe(batch)
    vectors = await build.embed([text.name for text in texts]) if texts else ()
    now = build.run.clock()
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
    run = build.run
    await run.repeat(
        lambda: build.store.write_communities(lease, batch, now=run.clock(), ttl=run.lease_ttl)
    )
