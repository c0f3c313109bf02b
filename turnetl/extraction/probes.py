"""The calls of a check of a model that are not Graphiti's: looking for what was missed."""

from datetime import UTC, datetime

from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

from turnetl.extraction.llm import reflexion
from turnetl.llm.checks.probes import SAMPLE_NAMES, SAMPLE_TEXT, SAMPLE_TIME, ModelProbe
from turnetl.llm.graphiti import GraphitiModel

_GROUP = "check"
_NEVER = datetime(2026, 1, 1, tzinfo=UTC)


def of_reflexion() -> tuple[ModelProbe, ...]:
    """Return the calls of a pass of reflexion, in its order."""
    return (
        ModelProbe("reflexion.entities", _entities),
        ModelProbe("reflexion.facts", _facts),
    )


async def _entities(turn: GraphitiModel) -> str:
    missed = await reflexion.entities(turn, _told(), [], _named(SAMPLE_NAMES[0]))
    found = any(SAMPLE_NAMES[1] in one.lower() for one in missed)
    return "" if found else f"does not find `{SAMPLE_NAMES[1]}`, which was left out of the list"


async def _facts(turn: GraphitiModel) -> str:
    missed = await reflexion.facts(turn, _told(), [], _named(*SAMPLE_NAMES), [])
    return "" if missed else "finds no fact, and the only one was left out of the list"


def _told() -> EpisodicNode:
    return EpisodicNode(
        name="check",
        group_id=_GROUP,
        source=EpisodeType.message,
        source_description="",
        content=SAMPLE_TEXT,
        created_at=_NEVER,
        valid_at=SAMPLE_TIME,
    )


def _named(*names: str) -> list[EntityNode]:
    return [EntityNode(name=name, group_id=_GROUP, created_at=_NEVER) for name in names]
