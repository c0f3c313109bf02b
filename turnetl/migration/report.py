"""What a migration would do with each group of a graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.graph.migrations import TurnMigration
from turnetl.ingestion import report as ingest_report
from turnetl.ingestion.report import IngestReport
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
        """Return the episodes of this class."""
        return [episode for episode in self.episodes if episode.kind is kind]

    @property
    def sessions(
        self,
    ) -> Annotated[
        list[ArchivedSession],
        described("Sessions that episodes are matched to.", counted=True),
    ]:
        """The sessions that episodes are matched to, each once, by (format, session_id)."""
        matched = (one.session for one in self.of_kind(EpisodeClass.MATCHED))
        by_id = {(one.format, one.session_id): one for one in matched if one is not None}
        return [by_id[key] for key in sorted(by_id)]

    @property
    def turns(
        self,
    ) -> Annotated[int, described("Turns of these sessions that a migration would ingest.")]:
        return sum(session.turns for session in self.sessions)

    @property
    def tokens(
        self,
    ) -> Annotated[int, described("Estimated tokens of the texts of these turns.")]:
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
        """Return the episodes of this class of all groups."""
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
