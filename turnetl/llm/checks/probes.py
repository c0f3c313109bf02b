"""Little calls of each kind that a run makes, and what a right answer to each is like."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from graphiti_core.prompts import prompt_library
from graphiti_core.prompts.dedupe_edges import EdgeDuplicate
from graphiti_core.prompts.dedupe_nodes import NodeResolutions
from graphiti_core.prompts.extract_edges import EdgeTimestamps, ExtractedEdges
from graphiti_core.prompts.extract_nodes import ExtractedEntities, SummarizedEntities
from graphiti_core.prompts.models import Message
from graphiti_core.utils.maintenance.node_operations import _build_entity_types_context
from pydantic import BaseModel

from turnetl.llm.graphiti import GraphitiModel

TypesByName = Mapping[str, type[BaseModel]]
ResponseT = TypeVar("ResponseT", bound=BaseModel)

SAMPLE_TEXT = "user: What does the cart keep its orders in?\nassistant: `cart.py` uses `sqlite`."
SAMPLE_TIME = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SAMPLE_NAMES = ("cart.py", "sqlite")
SAMPLE_FACT = "cart.py uses sqlite."
_LONG = "\n".join(
    [SAMPLE_TEXT, *(f"Line {line} of the log is like the one before it." for line in range(2, 392))]
)
"""As long as a part of a turn may be, some 6,000 tokens, with all that matters at its beginning:
there are servers that leave out the beginning of what is too long for them, without a word."""


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """One call."""

    prompt: str
    """Its name, or what begins with it."""
    run: Callable[[GraphitiModel], Awaitable[str]]
    """Asks, and returns what is wrong with the answer; nothing if nothing is. Raises pydantic's
    ValidationError where it does not fit its form."""


def run_probes(
    things: TypesByName | None, facts: TypesByName | None, instructions: str | None
) -> Iterator[ModelProbe]:
    """Yield the calls that Graphiti's building blocks make, in the order of a turn."""
    yield _entities(things, instructions or "", SAMPLE_TEXT)
    yield _resolutions()
    yield _edges(facts, instructions or "")
    yield _duplicates()
    yield _timestamps()
    if kind := _with_fields(things):
        yield _attributes(kind)
    if kind := _with_fields(facts):
        yield _edge_attributes(kind)
    yield _summaries()
    long = _entities(things, instructions or "", _LONG)
    yield replace(long, prompt=f"{long.prompt} of a long turn")


def build_probe(
    prompt: str,
    messages: Callable[[], list[Message]],
    form: type[ResponseT],
    wrong: Callable[[ResponseT], str] = lambda _: "",
    *,
    attributes: bool = False,
) -> ModelProbe:
    """Return a call as Graphiti makes it.

    Args:
        prompt: its name.
        messages: made for each call: the client adds to them.
        form: of the answer.
        wrong: says what is wrong with an answer that fits the form; nothing if nothing is.
        attributes: Graphiti says more to calls that fill in fields.
    """

    async def run(turn: GraphitiModel) -> str:
        said = await turn.generate_response(
            messages(), form, prompt_name=prompt, attribute_extraction=attributes
        )
        return wrong(form.model_validate(said))

    return ModelProbe(prompt, run)


def _entities(things: TypesByName | None, instructions: str, told: str) -> ModelProbe:
    kinds = _build_entity_types_context(dict(things) if things else None)
    context = {
        "episode_content": told,
        "episode_timestamp": SAMPLE_TIME.isoformat(),
        "previous_episodes": [],
        "custom_extraction_instructions": instructions,
        "entity_types": kinds,
        "source_description": "",
    }

    def wrong(said: ExtractedEntities) -> str:
        found = [one.name.lower() for one in said.extracted_entities]
        missed = [name for name in SAMPLE_NAMES if not any(name in one for one in found)]
        if not found or missed:
            return f"does not find {_named(missed)}, which the text is about"
        if any(not 0 <= one.entity_type_id < len(kinds) for one in said.extracted_entities):
            return "gives a thing a kind that it was not offered"
        return ""

    return build_probe(
        "extract_nodes.extract_message",
        lambda: prompt_library.extract_nodes.extract_message(context),
        ExtractedEntities,
        wrong,
    )


def _resolutions() -> ModelProbe:
    kind = {"entity_type": ["Entity"], "entity_type_description": "Default Entity Type"}
    known = {"entity_types": ["Entity"], "summary": ""}
    context = {
        "extracted_nodes": [
            {"id": at, "name": name} | kind for at, name in enumerate(SAMPLE_NAMES)
        ],
        "existing_nodes": [
            {"candidate_id": at, "name": name} | known
            for at, name in enumerate(("redis", "Cart.py"))
        ],
        "episode_content": SAMPLE_TEXT,
        "previous_episodes": [],
    }

    def wrong(said: NodeResolutions) -> str:
        same = {one.id: one.duplicate_candidate_id for one in said.entity_resolutions}
        if set(same) != {0, 1}:
            return f"answers for things with the ids {sorted(same)}, and was asked for 0 and 1"
        if not set(same.values()) <= {-1, 0, 1}:
            return "names a candidate that there is not"
        if same[0] != 1:
            return "does not see that `Cart.py` is `cart.py`"
        return "takes `sqlite` for something else" if same[1] != -1 else ""

    return build_probe(
        "dedupe_nodes.nodes",
        lambda: prompt_library.dedupe_nodes.nodes(context),
        NodeResolutions,
        wrong,
    )


def _edges(facts: TypesByName | None, instructions: str) -> ModelProbe:
    context = {
        "episode_content": SAMPLE_TEXT,
        "nodes": [{"name": name, "entity_types": ["Entity"]} for name in SAMPLE_NAMES],
        "previous_episodes": [],
        "reference_time": SAMPLE_TIME,
        "edge_types": [
            {
                "fact_type_name": name,
                "fact_type_signatures": [("Entity", "Entity")],
                "fact_type_description": kind.__doc__,
            }
            for name, kind in (facts or {}).items()
        ],
        "strict_edge_types": False,
        "custom_extraction_instructions": instructions,
    }

    def wrong(said: ExtractedEdges) -> str:
        ends = [(one.source_entity_name, one.target_entity_name) for one in said.edges]
        if not ends:
            return f"finds no fact, and the text says that {_named(SAMPLE_NAMES, ' uses ')}"
        if any(end.strip().lower() not in SAMPLE_NAMES for pair in ends for end in pair):
            return "names things that it was not given"
        return ""

    return build_probe(
        "extract_edges.edge",
        lambda: prompt_library.extract_edges.edge(context),
        ExtractedEdges,
        wrong,
    )


def _duplicates() -> ModelProbe:
    context = {
        "existing_edges": [{"idx": 0, "fact": SAMPLE_FACT}],
        "new_edge": "`cart.py` uses `sqlite`",
        "edge_invalidation_candidates": [{"idx": 1, "fact": "cart.py is written in Python."}],
    }

    def wrong(said: EdgeDuplicate) -> str:
        if not {*said.duplicate_facts, *said.contradicted_facts} <= {0, 1}:
            return "names a fact that there is not"
        if said.duplicate_facts != [0]:
            return "does not see that a fact is said again"
        return "retires a fact that nothing speaks against" if said.contradicted_facts else ""

    return build_probe(
        "dedupe_edges.resolve_edge",
        lambda: prompt_library.dedupe_edges.resolve_edge(context),
        EdgeDuplicate,
        wrong,
    )


def _timestamps() -> ModelProbe:
    context = {"fact": SAMPLE_FACT, "reference_time": SAMPLE_TIME.isoformat()}

    def wrong(said: EdgeTimestamps) -> str:
        # What is no time was taken out already.
        return "" if said.valid_at else "gives no time that can be read to a fact that is true now"

    return build_probe(
        "extract_edges.extract_timestamps",
        lambda: prompt_library.extract_edges.extract_timestamps(context),
        EdgeTimestamps,
        wrong,
    )


def _attributes(kind: type[BaseModel]) -> ModelProbe:
    context = {
        "node": {"name": SAMPLE_NAMES[0], "entity_types": [kind.__name__], "attributes": {}},
        "episode_content": SAMPLE_TEXT,
        "previous_episodes": [],
    }
    return build_probe(
        "extract_nodes.extract_attributes",
        lambda: prompt_library.extract_nodes.extract_attributes(context),
        kind,
        attributes=True,
    )


def _edge_attributes(kind: type[BaseModel]) -> ModelProbe:
    context = {"fact": SAMPLE_FACT, "reference_time": SAMPLE_TIME, "existing_attributes": {}}
    return build_probe(
        "extract_edges.extract_attributes",
        lambda: prompt_library.extract_edges.extract_attributes(context),
        kind,
        attributes=True,
    )


def _summaries() -> ModelProbe:
    context = {
        "entities": [
            {
                "name": SAMPLE_NAMES[0],
                "summary": SAMPLE_FACT,
                "entity_types": ["Entity"],
                "attributes": {},
            }
        ],
        "episode_content": SAMPLE_TEXT,
        "previous_episodes": [],
        "entity_type_descriptions": {},
    }

    def wrong(said: SummarizedEntities) -> str:
        if not said.summaries:
            return f"summarises nothing, and was asked for {_named(SAMPLE_NAMES[:1])}"
        if any(one.name.lower() != SAMPLE_NAMES[0] for one in said.summaries):
            return "summarises things that it was not given"
        return "" if all(one.summary.strip() for one in said.summaries) else "leaves it empty"

    return build_probe(
        "extract_nodes.extract_summaries_batch",
        lambda: prompt_library.extract_nodes.extract_summaries_batch(context),
        SummarizedEntities,
        wrong,
    )


def _with_fields(kinds: TypesByName | None) -> type[BaseModel] | None:
    return next((kind for kind in (kinds or {}).values() if kind.model_fields), None)


def _named(names: Sequence[str], between: str = " and ") -> str:
    return between.join(f"`{name}`" for name in names)
