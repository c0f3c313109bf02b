"""The state of a migration in the graph: one TurnMigration for each, and its phase in sentences.

The steps of a cutover, a rollback and a finish: each is one transaction, and may be repeated.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, LiteralString

import msgspec

from turnetl.base import ids
from turnetl.base.errors import GraphUnusable
from turnetl.base.model import GroupId, SessionId
from turnetl.base.results import described

SESSION = "session"
"""The granularity of an episode that summarises a session, or is data of another program: value of
the property `turnetl_granularity`."""


class MovedKind(StrEnum):
    """What is moved together, with the edges that begin at it."""

    COMMUNITIES = "communities"
    """With HAS_MEMBER."""
    SAGAS = "sagas"
    """With HAS_EPISODE."""
    ENTITIES = "entities"
    FACTS = "facts"
    EPISODES = "episodes"
    """With MENTIONS and NEXT_EPISODE."""


@dataclass(frozen=True, slots=True)
class MoveStep:
    """Set the group of data of one kind. What is not in the source group stays."""

    kind: MovedKind
    uuids: tuple[str, ...]
    source: GroupId
    target: GroupId


@dataclass(frozen=True, slots=True)
class MarkStep:
    """Mark episodes of a group with a granularity, which Graphiti does not read; or unmark them."""

    group: GroupId
    uuids: tuple[str, ...]
    """Of episodes that stay; with no granularity, those that are unmarked."""
    granularity: str | None


@dataclass(frozen=True, slots=True)
class MoveCommitsStep:
    """Set the group of TurnCommits. What is not in the source group stays."""

    turns: tuple[str, ...]
    source: GroupId
    target: GroupId


@dataclass(frozen=True, slots=True)
class SwitchStep:
    """Give number, id and profile of a group to another one, which makes its TurnCommits visible.

    The TurnGroup of the source is deleted, unless it has TurnCommits, or gets a new id and no
    turns.
    """

    source: GroupId
    target: GroupId
    deletes_source: bool
    new_creation_id: str = ""
    """Of the source, if it stays."""


@dataclass(frozen=True, slots=True)
class DeleteStep:
    """Delete data of one kind. An entity that something uses goes to the heir.

    That is a fact, a mention or, in Neo4j, a relation of another program to a node outside of the
    group: those that were made after the steps were planned.
    """

    kind: MovedKind
    uuids: tuple[str, ...]
    group: GroupId
    heir: GroupId


@dataclass(frozen=True, slots=True)
class DropTurnsStep:
    """Delete TurnCommits of a group, and mark those of their runs as undone that have no other."""

    group: GroupId
    turns: tuple[str, ...]
    runs: tuple[str, ...]
    """Ids of the runs that committed these turns, sorted."""
    now: datetime
    """The current time."""


@dataclass(frozen=True, slots=True)
class DropGroupStep:
    """Delete the TurnGroup of a group without turns, and with it its lease."""

    group: GroupId


MigrationStep = (
    MoveStep | MarkStep | MoveCommitsStep | SwitchStep | DeleteStep | DropTurnsStep | DropGroupStep
)


@dataclass(frozen=True, slots=True)
class StepPatterns:
    """Cypher of a store for the steps; each pattern binds `item`."""

    fact: LiteralString
    """The one with the uuid `uuid`."""
    edges: Mapping[MovedKind, Sequence[LiteralString]]
    """Those that are moved with a node, by its kind."""
    is_used: LiteralString
    """Whether something uses an entity."""
    delete_fact: LiteralString = "DETACH DELETE item"

    def item(self, kind: MovedKind) -> LiteralString:
        """Return the pattern of the node or fact with the uuid `uuid`."""
        return _NODES.get(kind, self.fact)


_NODES: Mapping[MovedKind, LiteralString] = {
    MovedKind.COMMUNITIES: "MATCH (item:Community {uuid: uuid})",
    MovedKind.SAGAS: "MATCH (item:Saga {uuid: uuid})",
    MovedKind.ENTITIES: "MATCH (item:Entity {uuid: uuid})",
    MovedKind.EPISODES: "MATCH (item:Episodic {uuid: uuid})",
}


_Parametrised = tuple[LiteralString, dict[str, Any]]
_EACH: LiteralString = "UNWIND $uuids AS uuid "
_MOVE: LiteralString = " WHERE item.group_id = $source SET item.group_id = $target"
_OF_GROUP: LiteralString = " WHERE item.group_id = $group_id"
_COMMITS: LiteralString = f"{_EACH}MATCH (item:TurnCommit {{turn_id: uuid}})"
_SWITCH_GROUP: LiteralString = """
MATCH (s:TurnGroup {group_id: $source}), (t:TurnGroup {group_id: $target})
SET t.sequence = s.sequence, t.creation_id = s.creation_id, t.embedder = s.embedder,
    t.dimensions = s.dimensions, t.recipe = s.recipe
"""
_RESET_GROUP: LiteralString = """
MATCH (g:TurnGroup {group_id: $source}) SET g.sequence = 0, g.creation_id = $creation_id
"""
_DROP_GROUP: LiteralString = """
MATCH (g:TurnGroup {group_id: $group_id})
WHERE NOT EXISTS { MATCH (c:TurnCommit) WHERE c.group_id = $group_id }
DELETE g
"""
MARK_RUNS: LiteralString = """
UNWIND $runs AS run_id
MATCH (r:TurnRun {run_id: run_id})
WHERE NOT EXISTS { MATCH (c:TurnCommit) WHERE c.run_id = r.run_id }
SET r.undone_at = $now
"""
MIGRATIONS: LiteralString = "MATCH (m:TurnMigration) RETURN m.state AS state"
SAVE_MIGRATION: LiteralString = """
MERGE (m:TurnMigration {migration_id: $migration_id})
SET m.group_id = $group_id, m.state = $state
"""


def _step_statements(step: MigrationStep, patterns: StepPatterns) -> Iterator[_Parametrised]:
    match step:
        case MoveStep(kind, uuids, source, target):
            groups = {"uuids": list(uuids), "source": source, "target": target}
            for pattern in (patterns.item(kind), *patterns.edges.get(kind, ())):
                yield _EACH + pattern + _MOVE, groups
        case MarkStep(group, uuids, granularity):
            mark = f"{_NODES[MovedKind.EPISODES]}{_OF_GROUP}"
            yield (
                f"{_EACH}{mark} SET item.turnetl_granularity = $granularity",
                {"uuids": list(uuids), "group_id": group, "granularity": granularity},
            )
        case MoveCommitsStep(turns, source, target):
            groups = {"uuids": list(turns), "source": source, "target": target}
            yield _COMMITS + _MOVE, groups
        case SwitchStep(source, target, deletes_source, creation_id):
            yield _SWITCH_GROUP, {"source": source, "target": target}
            if deletes_source:
                yield _DROP_GROUP, {"group_id": source}
            else:
                yield _RESET_GROUP, {"source": source, "creation_id": creation_id}
        case DeleteStep():
            yield from _deletion(step, patterns)
        case DropTurnsStep(group, turns, runs, now):
            yield f"{_COMMITS}{_OF_GROUP} DELETE item", {"uuids": list(turns), "group_id": group}
            yield MARK_RUNS, {"runs": list(runs), "now": now}
        case DropGroupStep(group):
            yield _DROP_GROUP, {"group_id": group}


def _deletion(step: DeleteStep, patterns: StepPatterns) -> Iterator[_Parametrised]:
    of_group = {"uuids": list(step.uuids), "group_id": step.group}
    found = f"{_EACH}{patterns.item(step.kind)}{_OF_GROUP}"
    if step.kind is MovedKind.ENTITIES:
        inherit = f"{found} AND {patterns.is_used} SET item.group_id = $heir"
        yield inherit, of_group | {"heir": step.heir}
    is_fact = step.kind is MovedKind.FACTS
    yield f"{found} {patterns.delete_fact if is_fact else 'DETACH DELETE item'}", of_group


OWN_TYPES = ("RELATES_TO", "MENTIONS", "HAS_MEMBER", "HAS_EPISODE", "NEXT_EPISODE")
"""The types that Graphiti makes."""


@dataclass(frozen=True, slots=True)
class OtherRelation:
    """A relation that a migration must not break: it uses a node, and is no part of its group.

    It is of another type than Graphiti's, or from another group. Of Graphiti's types only those
    count that end at the node, and all facts.
    """

    node: str
    """Uuid of an entity, episode, saga or community."""
    other: str | None
    """Uuid of the node at the other end; None if that is no such node of these groups."""


LAYOUT = 1
"""Version of what a migration writes: one of another version is not continued."""


class MigrationPhase(StrEnum):
    """How far a migration is. Until `CUTTING_OVER`, readers of the group see the old data."""

    RUNNING = "running"
    """Turns are ingested into the shadow group; not all of them yet."""
    READY = "ready"
    """All turns are in the shadow group."""
    CUTTING_OVER = "cutting_over"
    """Old data leaves the group, then turns enter it."""
    CUT_OVER = "cut_over"
    """The group holds the turns."""
    ROLLING_BACK = "rolling_back"
    """Turns leave the group, then old data enters it. It ends in `READY`."""
    FINISHING = "finishing"
    """The old data is being deleted: there is no way back."""
    DISCARDING = "discarding"
    """The turns of the shadow group are being deleted; the group has the old data."""
    FINISHED = "finished"
    UNKNOWN = "unknown"
    """Another version of turnetl recorded a phase that this one does not have."""

    @property
    def precedes_cutover(self) -> bool:
        """Return whether the turns are still in the shadow group, and all old data in its place."""
        return self in (MigrationPhase.RUNNING, MigrationPhase.READY)

    @property
    def is_of_turns(self) -> bool:
        """Return whether the group belongs to its turns."""
        return self in (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)

    @property
    def moves_data(self) -> bool:
        """Return whether the group holds a part of its old data and a part of its turns."""
        return self in (MigrationPhase.CUTTING_OVER, MigrationPhase.ROLLING_BACK)


@dataclass(frozen=True, slots=True)
class MigrationSummary:
    """The state of a migration."""

    migration_id: Annotated[str, described("Id of the migration.")]
    group_id: GroupId
    phase: Annotated[MigrationPhase, described("How far it is.")]
    started_at: Annotated[datetime, described("When its first run began.")]

    @property
    def is_open(self) -> bool:
        """Whether it is not finished."""
        return self.phase is not MigrationPhase.FINISHED


@dataclass(frozen=True, slots=True)
class TurnMigration:
    """The state of a migration."""

    migration_id: Annotated[str, described("8 hexadecimal digits.")]
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    """The group whose session-level data is replaced."""
    phase: Annotated[
        MigrationPhase,
        described(
            "`running`: turns are missing; `ready` for the cutover; `cutting_over`; `cut_over`: "
            "the group holds the turns; `rolling_back`; `finishing`: the old data is being "
            "deleted; `discarding`: the turns are; `finished`."
        ),
    ]
    moved: Annotated[
        tuple[str, ...],
        described("Episodes of other programs that the turns replace.", counted=True),
    ]
    """Uuids, sorted: the cutover moves them."""
    staying: Annotated[
        tuple[str, ...],
        described("Other episodes of other programs, which stay.", counted=True),
    ]
    """Uuids, sorted, when the migration was run last."""
    sessions: Annotated[
        tuple[tuple[str, str], ...],
        described("Sessions whose turns replace old data.", counted=True),
    ]
    """(format, session_id), sorted."""
    started_at: Annotated[datetime, described("When its first run began.")]
    updated_at: datetime
    turns: Annotated[int, described("Turns of these sessions; 0 until all are ingested.")] = 0
    verdict: str = ""
    """JSON of `migration.verdict.CompareVerdict`; empty before the first comparison."""
    cut_over_at: Annotated[
        datetime | None, described("When the group got the turns; null if it has not.")
    ] = None
    """Or if the cutover was taken back."""
    communities: tuple[str, ...] = ()
    """Uuids of the communities of other programs that were in the group when it was cut over."""
    layout: int = LAYOUT

    @property
    @described("Group that holds the turns before the cutover.")
    def turns_group(self) -> GroupId:
        return ids.turns_group(self.group_id)

    @property
    @described("Group that holds the old data after the cutover.")
    def sessions_group(self) -> GroupId:
        return ids.sessions_group(self.group_id, self.migration_id)

    @property
    def is_open(self) -> bool:
        return self.phase is not MigrationPhase.FINISHED


class _State(msgspec.Struct):
    """The part of a state that every layout has."""

    layout: int
    migration_id: str
    group_id: str
    phase: str
    started_at: datetime


def migration_row(migration: TurnMigration) -> dict[str, str]:
    """Return the parameters of `SAVE_MIGRATION`."""
    return {
        "migration_id": migration.migration_id,
        "group_id": migration.group_id,
        "state": msgspec.json.encode(migration).decode(),
    }


def change_statements(
    step: MigrationStep | None, migration: TurnMigration | None, patterns: StepPatterns
) -> Iterator[_Parametrised]:
    """Yield the statements of `GraphStore.migrate`: of the step, then those that save the state."""
    if step is not None:
        yield from _step_statements(step, patterns)
    if migration is not None:
        yield SAVE_MIGRATION, migration_row(migration)


def decoded(states: Sequence[str]) -> list[TurnMigration]:
    """Return the states in these JSON texts, in order.

    Of one with another layout only what every layout has is known.
    """
    return sorted(map(_decoded, states), key=attrgetter("started_at", "migration_id"))


def summaries(states: Sequence[str]) -> list[MigrationSummary]:
    """Return the summaries of the states in these JSON texts, in order."""
    found = (_summary(_head(state)) for state in states)
    return sorted(found, key=attrgetter("started_at", "migration_id"))


def _decoded(state: str) -> TurnMigration:
    head = _head(state)
    if head.layout == LAYOUT:
        return msgspec.json.decode(state, type=TurnMigration)
    summary = _summary(head)
    return TurnMigration(
        **asdict(summary),
        moved=(),
        staying=(),
        sessions=(),
        updated_at=summary.started_at,
        layout=head.layout,
    )


def _head(state: str) -> _State:
    try:
        return msgspec.json.decode(state, type=_State)
    except msgspec.DecodeError as error:
        raise GraphUnusable(
            f"the graph holds a migration that this version of turnetl cannot read ({error}); use "
            "the version that began it"
        ) from error


def _summary(head: _State) -> MigrationSummary:
    known = head.phase in {phase.value for phase in MigrationPhase}
    return MigrationSummary(
        migration_id=head.migration_id,
        group_id=GroupId(head.group_id),
        phase=MigrationPhase(head.phase) if known else MigrationPhase.UNKNOWN,
        started_at=head.started_at,
    )


_MOVING = (MigrationPhase.CUTTING_OVER, MigrationPhase.ROLLING_BACK, MigrationPhase.DISCARDING)
"""Phases in which turns are on their way: those of one group are in two."""


def check_not_moved(migrations: Sequence[TurnMigration], groups: Iterable[GroupId]) -> None:
    """Raise if a migration has begun to move turns of these groups, or of their shadow groups."""
    moved = moved_groups(migrations)
    for group in sorted({ids.final_group(group) for group in groups} & moved.keys()):
        raise GraphUnusable(f"group `{group}`: {moved[group]}; then forget")


def moved_groups(
    migrations: Iterable[TurnMigration | MigrationSummary],
) -> Mapping[GroupId, str]:
    """Return the groups, shadow groups too, whose turns are on their way, and what to do."""
    return {
        group: f"its migration is {phase_text(one.phase)}, so that its turns are not all in one "
        f"group: {remedy(one)}"
        for one in migrations
        if one.phase in _MOVING
        for group in (one.group_id, ids.turns_group(one.group_id))
    }


def summarised_groups(
    migrations: Sequence[TurnMigration], sessions: Collection[SessionId]
) -> list[GroupId]:
    """Return the groups of open migrations whose old data is of these sessions too, sorted."""
    return sorted(
        migration.group_id
        for migration in migrations
        if migration.is_open and any(session in sessions for _, session in migration.sessions)
    )


def incomplete_reason(migration: TurnMigration, turns: int) -> str | None:
    """Return why no cutover is possible with so many turns in the shadow group; None if one is."""
    group = migration.group_id
    if migration.phase is MigrationPhase.CUTTING_OVER:
        return None
    if migration.phase is MigrationPhase.CUT_OVER:
        return f"group `{group}` is cut over already: {remedy(migration)}"
    if migration.phase is not MigrationPhase.READY:
        return f"group `{group}` is not ready for a cutover: {remedy(migration)}"
    if turns < migration.turns:
        return (
            f"group `{group}`: {migration.turns - turns:,} of {migration.turns:,} turns are no "
            f"longer in the graph; `turnetl migrate run ARCHIVES --group {group}` ingests them"
        )
    return None


def phase_text(phase: MigrationPhase) -> str:
    """Return the phase as words of a sentence."""
    return phase.value.replace("_", " ")


def remedy(migration: TurnMigration | MigrationSummary) -> str:
    """Return the command that a migration waits for, as the end of a sentence."""
    return _REMEDIES[migration.phase].format(group=f"--group {migration.group_id}")


_BACK = "`turnetl migrate rollback {group}` takes it back"
_REMEDIES = {
    MigrationPhase.RUNNING: "`turnetl migrate run ARCHIVES {group}` continues it",
    MigrationPhase.READY: "`turnetl migrate cutover {group}` completes it",
    MigrationPhase.CUTTING_OVER: f"`turnetl migrate cutover {{group}}` continues it, {_BACK}",
    MigrationPhase.CUT_OVER: f"`turnetl migrate finish {{group}}` deletes the old data, {_BACK}",
    MigrationPhase.ROLLING_BACK: "`turnetl migrate rollback {group}` continues it",
    MigrationPhase.FINISHING: "`turnetl migrate finish {group}` continues it",
    MigrationPhase.DISCARDING: "`turnetl migrate rollback --discard {group}` continues it",
    MigrationPhase.FINISHED: "nothing is left to do",
    MigrationPhase.UNKNOWN: "another version of turnetl began it: finish it with that one",
}


def migration_message(migration: MigrationSummary) -> str:
    """Return the phase of a migration that is open, and the command that it waits for."""
    return (
        f"group `{migration.group_id}`: its migration is {phase_text(migration.phase)}; "
        f"{remedy(migration)}"
    )
