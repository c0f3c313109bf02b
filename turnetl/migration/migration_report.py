"""What a migration would do with each group, what a run of it did, and how it begins."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from turnetl.base import ids
from turnetl.base.errors import BadUsage, GraphUnusable
from turnetl.base.exit_code import ExitCode
from turnetl.base.ids import is_shadow
from turnetl.base.model import GroupId
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.estimation.plan_report import Estimate
from turnetl.graph.migrations import LAYOUT, MigrationPhase, TurnMigration, phase_text, remedy
from turnetl.ingestion import ingest_report
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass
from turnetl.migration.sessions import ArchivedSession


@dataclass(frozen=True, slots=True)
class GroupMigration:
    """A group that holds episodes of other programs."""

    group: GroupField
    episodes: Annotated[tuple[ClassifiedEpisode, ...], described("Sorted by uuid.")]
    """Those without a TurnCommit."""
    entities: Annotated[int, described("Entities of the group.")]
    facts: Annotated[int, described("Facts of the group.")]
    embedding_sizes: Annotated[
        Mapping[int, int],
        described("Number of entities by the dimensions of their embeddings."),
    ]

    def of_kind(self, kind: EpisodeClass) -> list[ClassifiedEpisode]:
        return [episode for episode in self.episodes if episode.kind is kind]

    @property
    @described("Sessions that episodes are matched to.", counted=True)
    def sessions(self) -> list[ArchivedSession]:
        """The sessions that episodes are matched to, each once, by (format, session_id)."""
        matched = (one.session for one in self.of_kind(EpisodeClass.MATCHED))
        by_id = {(one.format, one.session_id): one for one in matched if one is not None}
        return [by_id[key] for key in sorted(by_id)]

    @property
    @described("Turns of these sessions that a migration would ingest.")
    def turns(self) -> int:
        return sum(session.turns for session in self.sessions)

    @property
    @described("Estimated tokens of the texts of these turns.")
    def tokens(self) -> int:
        return sum(session.tokens for session in self.sessions)


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The episodes of a graph without a TurnCommit, each with its class."""

    groups: Annotated[
        tuple[GroupMigration, ...],
        described("The groups that hold episodes of other programs, sorted by name."),
    ]
    sessions: Annotated[int, described("Sessions of the archives.")]
    dimensions: Annotated[
        int | None,
        described("Of the embedder; null if they are not known without a request."),
    ]
    refused: tuple[str, ...] = ()
    """Why groups with a matched session cannot be migrated, and what to do; by group."""
    parse_problems: tuple[str, ...] = ()
    """Paths without an archive, and archives that could not be read."""

    def of_kind(self, kind: EpisodeClass) -> list[ClassifiedEpisode]:
        return [episode for group in self.groups for episode in group.of_kind(kind)]

    def other_dimensions(self, group: GroupMigration) -> tuple[int, ...]:
        """Return the dimensions of embeddings of the group that differ from the embedder's."""
        sizes = sorted(group.embedding_sizes)
        return tuple(size for size in sizes if self.dimensions not in (None, size))


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """A group that is not migrated."""

    group: GroupField
    reason: Annotated[str, described("Why, and what to do.")]


@dataclass(frozen=True, slots=True)
class MigrationRun:
    """Result of a run of a migration."""

    plan: MigrationPlan
    migrations: Annotated[tuple[TurnMigration, ...], described("The migrations, by group.")]
    """After the run; of a dry run those that it would begin with."""
    refused: Annotated[
        tuple[RefusedGroup, ...],
        described("Groups with data of other programs that are left alone."),
    ]
    """Empty if the user named the groups."""
    ingested: Annotated[IngestReport, described("What was ingested.", name="ingest")]
    """Its groups are those of `migrations`; none in a dry run."""


def exit_code_of(run: MigrationRun) -> int:
    """Return that of the ingest; 1 if there was nothing to migrate."""
    return ingest_report.exit_code_of(run.ingested) if run.migrations else ExitCode.FAILED


_ID_DIGITS = 8
_VALID_GROUP = re.compile(r"[A-Za-z0-9_-]{1,90}")
"""Names that Graphiti accepts, with room for the suffix of a shadow group in a file name."""


def open_migration(migrations: Sequence[TurnMigration], group: GroupId) -> TurnMigration | None:
    """Return the migration of a group that is not finished; None if there is none.

    Raises:
        GraphUnusable: another version of turnetl began it.
    """
    found = [one for one in migrations if one.group_id == group and one.is_open]
    if not found:
        return None
    [migration] = found[-1:]
    if migration.layout != LAYOUT:
        raise GraphUnusable(
            f"migration `{migration.migration_id}` of group `{group}` was begun by another version "
            f"of turnetl (layout {migration.layout}; this version writes {LAYOUT}); finish it, or "
            "take it back, with that version"
        )
    return migration


def begun_migration(
    plan: GroupMigration, migrations: Sequence[TurnMigration], now: datetime
) -> TurnMigration:
    """Return the state with which a run of this plan begins.

    A run with other archives adds their sessions to an open migration. What an earlier run matched
    stays matched, unless a person settled it otherwise.
    """
    migration = open_migration(migrations, plan.group)
    present = {one.episode.uuid for one in plan.episodes}
    undecided = {one.episode.uuid for one in plan.episodes if not one.is_settled}
    moved = {one.episode.uuid for one in plan.of_kind(EpisodeClass.MATCHED)}
    sessions = {(one.format, str(one.session_id)) for one in plan.sessions}
    if migration is None:
        migration = TurnMigration(
            migration_id=ids.digest(plan.group, now.isoformat())[:_ID_DIGITS],
            group_id=plan.group,
            phase=MigrationPhase.RUNNING,
            moved=(),
            staying=(),
            sessions=(),
            started_at=now,
            updated_at=now,
        )
    elif not migration.phase.precedes_cutover:
        raise BadUsage(
            f"group `{plan.group}`: its migration `{migration.migration_id}` is "
            f"{phase_text(migration.phase)}; {remedy(migration)}"
        )
    moved |= undecided & set(migration.moved)
    return replace(
        migration,
        phase=MigrationPhase.RUNNING,
        moved=tuple(sorted(moved)),
        staying=tuple(sorted(present - moved)),
        sessions=tuple(sorted(sessions | set(migration.sessions))),
        updated_at=now,
    )


def start_refusal(
    plan: GroupMigration,
    recorded: Sequence[TurnMigration],
    *,
    dimensions: int | None,
    with_turns: Collection[GroupId],
) -> str | None:
    """Return why the group cannot be migrated, and what to do; None if it can.

    Args:
        recorded: all migrations: sessions of these archives continue one that is open.
        dimensions: of the embedder; None if they are not known without a request.
    """
    group = plan.group
    is_begun = any(one.group_id == group and one.is_open for one in recorded)
    if is_begun and plan.sessions:
        return None
    if is_shadow(group) or not _VALID_GROUP.fullmatch(group):
        return (
            f"group `{group}` cannot be migrated: no group of turns may have this name. Give its "
            "nodes and edges a `group_id` of letters, digits, `-` and `_`, at most 90 and not of a "
            "shadow group (docs/migration.md)"
        )
    if not plan.sessions:
        return f"group `{group}` has no episode of a session of these archives"
    if group in with_turns:
        return (
            f"group `{group}` holds turns of turnetl already, which would be mixed with those of "
            "the migration: `turnetl backfill` ingests the other turns of these archives, and "
            "`turnetl undo --group` takes turns back"
        )
    others = sorted(size for size in plan.embedding_sizes if dimensions not in (None, size))
    if others and len(plan.of_kind(EpisodeClass.MATCHED)) < len(plan.episodes):
        return (
            f"group `{group}` has embeddings of {others[0]:,} dimensions, the embedder makes "
            f"{dimensions:,}, and some of its data stays with the group, which can hold only one "
            "kind; use the embedder of the old data"
        )
    return None


@dataclass(frozen=True, slots=True)
class EstimatedMigration:
    """The plan of a migration, with what its run takes."""

    plan: Annotated[MigrationPlan, INLINED]
    estimate: Annotated[
        Estimate | None,
        described("What `migrate run` will take; null if there is nothing to migrate."),
    ]
