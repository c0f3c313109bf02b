"""`turnetl migrate plan --json`."""

from typing import Annotated

from turnetl.base.result_schema import encoded_type
from turnetl.base.results import JsonOutput, described
from turnetl.estimation.report import Estimate
from turnetl.json_output import fields
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass
from turnetl.migration.report import GroupMigration, MigrationPlan


class UnrecordedEpisodeOutput(JsonOutput):
    """An episode that another program wrote, and which session it summarises."""

    episode: Annotated[str, described("Uuid of the episode.")]
    name: Annotated[str, described("Name of the episode.")]
    kind: Annotated[
        EpisodeClass,
        described(
            "`matched` to a session, `ambiguous`, `without_turns` if no turn of its session "
            "is kept, `archive_gone` if no archive holds its session, "
            "or `foreign` if it summarises none."
        ),
    ]
    reason: Annotated[str, described("Why, in one sentence.")]
    session_id: Annotated[
        str | None, described("Its session, or the one that it resembles most; null if none.")
    ]
    format: Annotated[str | None, described("Format of that session; null if none.")]
    runner_up: Annotated[
        str | None, described("Id of the session that it resembles next; null if none.")
    ]
    confidence: Annotated[
        float | None,
        described("From 0.5, a tie with `runner_up`, to 1; null if no texts were compared."),
    ]
    similarity: Annotated[
        float | None,
        described("Of its text with the session's, from 0 to 1; null as `confidence`."),
    ]
    entities: Annotated[int, described("Entities that it mentions.")]
    facts: Annotated[int, described("Facts that name it.")]


class GroupMigrationOutput(JsonOutput):
    """A group that holds episodes of other programs."""

    group: fields.GroupField
    sessions: Annotated[int, described("Sessions that episodes are matched to.")]
    turns: Annotated[int, described("Turns of these sessions that a migration would ingest.")]
    tokens: Annotated[int, described("Estimated tokens of the texts of these turns.")]
    entities: Annotated[int, described("Entities of the group.")]
    facts: Annotated[int, described("Facts of the group.")]
    embedding_sizes: Annotated[
        dict[str, int], described("Number of entities by the dimensions of their embeddings.")
    ]
    episodes: Annotated[list[UnrecordedEpisodeOutput], described("Sorted by uuid.")]


class MigrationPlanOutput(JsonOutput):
    """The plan of a migration."""

    groups: Annotated[
        list[GroupMigrationOutput],
        described("The groups that hold episodes of other programs, sorted by name."),
    ]
    sessions: Annotated[int, described("Sessions of the archives.")]
    dimensions: Annotated[
        int | None,
        described("Of the embedder; null if they are not known without a request."),
    ]
    estimate: Annotated[
        encoded_type(Estimate) | None,  # type: ignore[valid-type]
        described("What `migrate run` will take; null if there is nothing to migrate."),
    ]


def migration_plan_output(
    plan: MigrationPlan, estimate: Estimate | None = None
) -> MigrationPlanOutput:
    return MigrationPlanOutput(
        groups=[_group(group) for group in plan.groups],
        sessions=plan.sessions,
        dimensions=plan.dimensions,
        estimate=estimate,
    )


def _group(group: GroupMigration) -> GroupMigrationOutput:
    sizes = sorted(group.embedding_sizes.items())
    return GroupMigrationOutput(
        group=group.group,
        sessions=len(group.sessions),
        turns=group.turns,
        tokens=group.tokens,
        entities=group.entities,
        facts=group.facts,
        embedding_sizes={str(size): count for size, count in sizes},
        episodes=[_episode(one) for one in group.episodes],
    )


def _episode(one: ClassifiedEpisode) -> UnrecordedEpisodeOutput:
    return UnrecordedEpisodeOutput(
        episode=one.episode.uuid,
        name=one.episode.name,
        kind=one.kind,
        reason=one.reason,
        session_id=one.session.session_id if one.session else None,
        format=one.session.format if one.session else None,
        runner_up=one.runner_up.session_id if one.runner_up else None,
        confidence=one.confidence,
        similarity=one.similarity,
        entities=one.episode.entities,
        facts=one.episode.facts,
    )
