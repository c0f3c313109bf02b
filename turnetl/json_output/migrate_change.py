"""`turnetl migrate cutover --json`, `rollback --json` and `finish --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.json_output.migrate_run import MigrationOutput, migration_output
from turnetl.migration.change_report import MigrationChange
from turnetl.migration.moves import Moves


class MovesOutput(JsonOutput):
    """Data that is moved or deleted together."""

    episodes: Annotated[int, described("Episodes.")]
    entities: Annotated[int, described("Entities.")]
    facts: Annotated[int, described("Facts.")]
    sagas: Annotated[int, described("Sagas.")]
    communities: Annotated[int, described("Communities.")]


class NewEpisodeOutput(JsonOutput):
    """An episode that another program wrote while the group was migrated."""

    episode: Annotated[str, described("Uuid of the episode.")]
    name: Annotated[str, described("Name of the episode.")]


class MigrationChangeOutput(JsonOutput):
    """A cutover, a rollback or a finish: planned, or carried out."""

    done: Annotated[bool, described("Whether it was carried out.")]
    migration: Annotated[
        MigrationOutput, described("The state before it; after it if it was carried out.")
    ]
    old: Annotated[MovesOutput, described("Session-level data that is moved, or deleted.")]
    turns: Annotated[MovesOutput, described("Data of turns that is moved, or deleted.")]
    kept: Annotated[
        MovesOutput,
        described("Data that stays with the group because other data, or a relation, uses it."),
    ]
    turn_count: Annotated[int, described("Turns.")]
    staying: Annotated[int, described("Episodes of other programs that stay with the group.")]
    new_episodes: Annotated[
        list[NewEpisodeOutput],
        described("Of these, the ones that were written since the last run."),
    ]
    objections: Annotated[
        list[str], described("What speaks against it unless `--accept` is given.")
    ]
    error: Annotated[str | None, described("Why it is not possible; null if it is.")]


def migration_change_output(report: MigrationChange) -> MigrationChangeOutput:
    return MigrationChangeOutput(
        done=report.is_done,
        migration=migration_output(report.migration),
        old=_moves(report.old),
        turns=_moves(report.turns),
        kept=_moves(report.kept),
        turn_count=report.turn_count,
        staying=len(report.staying),
        new_episodes=[
            NewEpisodeOutput(episode=one.uuid, name=one.name) for one in report.new_episodes
        ],
        objections=[*report.objections],
        error=report.error,
    )


def _moves(moves: Moves) -> MovesOutput:
    return MovesOutput(
        episodes=len(moves.episodes),
        entities=len(moves.entities),
        facts=len(moves.facts),
        sagas=len(moves.sagas),
        communities=len(moves.communities),
    )
