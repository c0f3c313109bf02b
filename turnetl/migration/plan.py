"""Plan a migration: compare the session-level data of a graph with archives. Writes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from turnetl import wiring
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.lake.temporary import shared_temporary_folder
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass, EpisodeClassifier
from turnetl.migration.migration_report import GroupMigration, MigrationPlan, start_refusal
from turnetl.migration.plan_file import Settlement, check_new, read_plan, write_plan
from turnetl.migration.sessions import archived_sessions
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.parse_plan import parse_archives
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

TEMPORARY = "turnetl-migrate"
"""Name of the folders with temporary tables."""
_STAGE = "classify"
_NAME_CHARS = 80
"""Of an episode's name in a plan file."""


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """What a plan of a migration compares."""

    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups with an episode if empty."""
    format_name: str | None = None
    """The format of all archives; None: each is detected by its content."""
    plan_file: Path | None = None
    """A file in which a person settled ambiguous episodes; None: there is none."""


async def plan_migration(
    archives: Sequence[str],
    settings: Settings,
    options: MigrationOptions,
    *,
    progress: Progress = ignore_progress,
) -> MigrationPlan:
    """Find which session of the archives each episode without a TurnCommit summarises.

    Neither the graph nor the lake is written: the archives are parsed into temporary tables.
    """
    check_graph(settings)
    settled = read_plan(options.plan_file) if options.plan_file is not None else {}
    async with wiring.store(settings, write=False) as store:
        selected = select_groups(await store.episode_groups(), options.groups)
        with _temporary_tables(settings) as tables:
            parsed = parse_archives(
                archives, tables, format_name=options.format_name, progress=progress
            )
            if parsed.groups:
                filter_turns(tables, parsed.groups, progress=progress)
            sessions = archived_sessions(wiring.lake(tables), parsed.groups)
        classifier = EpisodeClassifier(sessions)
        groups: list[GroupMigration] = []
        for done, group in enumerate(selected, start=1):
            groups += await _group(store, group, classifier, settled)
            progress(ProgressUpdate(_STAGE, "groups", done, len(selected)))
        recorded, with_turns = await store.migrations(), await store.groups()
    if not options.groups:
        _check_settled(settled, groups)
    dimensions = await _dimensions(settings)
    begun = {one.group_id for one in recorded if one.is_open}
    refusals = [
        start_refusal(
            group, is_begun=group.group in begun, dimensions=dimensions, with_turns=with_turns
        )
        for group in groups
        if group.sessions
    ]
    return MigrationPlan(
        groups=tuple(groups),
        sessions=len(sessions),
        dimensions=dimensions,
        refused=tuple(reason for reason in refusals if reason is not None),
        parse_problems=tuple(problem.message for problem in parsed.problems),
    )


def archives_of(
    plan: GroupMigration, archives: Sequence[str], files: ArchiveFiles
) -> Sequence[str]:
    """Return the archives of the matched sessions; all of them if one has a redacted path."""
    paths = sorted({path for session in plan.sessions for path in session.archives})
    files.look_up(paths)
    return [*map(str, paths)] if all(files.is_file(path) for path in paths) else archives


def check_plan_file(path: Path) -> None:
    """Check that a file for a person's decisions can be written, before the plan is made.

    Raises:
        BadUsage: the file exists, or its folder does not.
    """
    check_new(path)


def write_plan_file(path: Path, plan: MigrationPlan) -> int:
    """Write the ambiguous episodes into a file that a person can edit; return their number."""
    ambiguous = plan.of_kind(EpisodeClass.AMBIGUOUS)
    write_plan(path, map(_row, ambiguous))
    return len(ambiguous)


async def _group(
    store: GraphStore,
    group: GroupId,
    classifier: EpisodeClassifier,
    settled: Mapping[str, Settlement],
) -> list[GroupMigration]:
    """Return the group, unless it only holds turns."""
    episodes = await store.unrecorded_episodes(group)
    if not episodes:
        return []
    _, entities, facts = await store.counts(group)
    sizes = dict(sorted((await store.embedding_sizes(group)).items()))
    classified = tuple(classifier.classify(episodes, settled))
    return [GroupMigration(group, classified, entities, facts, sizes)]


@contextmanager
def _temporary_tables(settings: Settings) -> Iterator[Settings]:
    """Yield settings with an empty lake, which is deleted afterwards."""
    with shared_temporary_folder(Path(gettempdir()), TEMPORARY) as folder:
        yield settings.model_copy(update={"lake": folder / "lake", "graph": settings.graph_url})


async def _dimensions(settings: Settings) -> int | None:
    if wiring.is_remote(settings):
        return settings.embedder.dimensions
    async with wiring.embedder(settings) as embedder:
        return embedder.dimensions


def _check_settled(settled: Mapping[str, Settlement], groups: Sequence[GroupMigration]) -> None:
    known = {one.episode.uuid for group in groups for one in group.episodes}
    for episode, settlement in settled.items():
        if episode not in known:
            raise BadUsage(
                f"{settlement.place}: the graph holds no episode `{episode}` of another program; "
                "remove the line, or check --graph"
            )


def _row(one: ClassifiedEpisode) -> dict[str, str]:
    return {
        "episode": one.episode.uuid,
        "session": "",
        "format": "",
        "first": one.session_id or "",
        "second": one.runner_up_id or "",
        "similarity": "" if one.similarity is None else f"{one.similarity:.3f}",
        "confidence": "" if one.confidence is None else f"{one.confidence:.3f}",
        "group": one.episode.group_id,
        "name": " ".join(one.episode.name.split())[:_NAME_CHARS],
        "reason": one.reason,
    }
