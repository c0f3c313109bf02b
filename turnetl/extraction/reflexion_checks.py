"""Requests of `turnetl model check` for the prompts of a reflexion pass, which Graphiti lacks."""

from datetime import UTC, datetime

from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

from turnetl.extraction.llm import reflexion
from turnetl.llm.checks.check_requests import SAMPLE_NAMES, SAMPLE_TEXT, SAMPLE_TIME, CheckRequest
from turnetl.llm.graphiti import GraphitiModel

_GROUP = "check"
_CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def reflexion_requests() -> tuple[CheckRequest, ...]:
    """Return the calls of a reflexion pass, in its order."""
    return (
        CheckRequest("reflexion.entities", _entities),
        CheckRequest("reflexion.facts", _facts),
    )


async def _entities(model: GraphitiModel) -> str:
    missed = await reflexion.entities(model, _episode(), [], _nodes(SAMPLE_NAMES[0]))
    is_found = any(SAMPLE_NAMES[1] in name.lower() for name in missed)
    return "" if is_found else f"does not find `{SAMPLE_NAMES[1]}`, which is missing from the list"


async def _facts(model: GraphitiModel) -> str:
    missed = await reflexion.facts(model, _episode(), [], _nodes(*SAMPLE_NAMES), [])
    return "" if missed else "finds no fact, although the only one is missing from the list"


def _episode() -> EpisodicNode:
    return EpisodicNode(
        name="check",
        group_id=_GROUP,
        source=EpisodeType.message,
        source_description="",
        content=SAMPLE_TEXT,
        created_at=_CREATED_AT,
        valid_at=SAMPLE_TIME,
    )


def _nodes(*names: str) -> list[EntityNode]:
    return [EntityNode(name=name, group_id=_GROUP, created_at=_CREATED_AT) for name in names]
