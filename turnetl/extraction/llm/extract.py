"""One part of a turn before a model: what it names, and what it says of that.

Nothing here hangs on the group, so that it may run ahead of the turns before.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graphiti_core.edges import EntityEdge

from turnetl import ids
from turnetl.errors import TooLong
from turnetl.extraction.llm import reflexion
from turnetl.extraction.llm.calls import Asking, Edges, Found, Passage
from turnetl.extraction.llm.postprocess import (
    hung,
    later_wins,
    not_named,
    sifted,
    united,
    worth_a_name,
)
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.prompt_config import PromptConfig
from turnetl.graph.mirror import convert
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder
from turnetl.model import Entity, Fact, TurnId, Usage

Halve = Callable[[str], Sequence[str]]
"""Cuts a text in two where a reader would pause; returns one piece if it cannot be cut."""

_SHORTEST = 400
"""Characters: what is this short and does not fit, does not fit in halves either."""


@dataclass(frozen=True, slots=True)
class Named:
    """The things that a part names."""

    entities: tuple[Entity, ...]
    discarded: Mapping[str, str]
    """Why, by the key that the thing would have."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class Said:
    """What a part says of them."""

    facts: tuple[Fact, ...]
    endpoints: tuple[Entity, ...]
    """Named by facts only."""
    discarded: Mapping[str, str]
    """Ends of facts, as `Named.left_out`."""
    gone: int
    """Facts that had nothing left to hang on."""
    usage: Usage


class Reader:
    """Reads passages."""

    def __init__(
        self, model: ChatModel, embedder: GraphitiEmbedder, ontology: Ontology, halve: Halve | None
    ) -> None:
        """Make a reader of any number of passages, side by side.

        Args:
            model: asked.
            embedder: handed to Graphiti, which does not use it here.
            ontology: kinds of things and facts to look for.
            halve: for passages that do not fit; without it they are set aside.
        """
        self._model = model
        self._embedder = embedder
        self._ontology = ontology
        self._halve = halve

    async def names(self, passage: Passage, steer: PromptConfig) -> Named:
        """Return the things that it names, each once; those of a later pass are added.

        Raises:
            BadTurn: it cannot be read. Its usage is what that cost.
        """
        asking = Asking(self._model, self._embedder, self._ontology)
        nodes = await self._in_halves(passage, partial(asking.entities, told=steer.instructions))
        hinted: set[str] = set()
        for _ in range(steer.reflexion):
            found = await self._in_halves(passage, partial(asking.missed_entities, nodes=nodes))
            missed = worth_a_name(found) if steer.instructions is not None else found
            if not (new := _not_hinted(missed, hinted)):
                break
            hints = steer.join(reflexion.hint_of_entities(new))
            more = await self._in_halves(passage, partial(asking.entities, told=hints))
            nodes = united(nodes, more)
        kept, left_out = sifted(united([], nodes), all_of_them=steer.instructions is None)
        return Named(tuple(map(convert.from_node, kept)), left_out, asking.usage)

    async def says(self, passage: Passage, named: Sequence[Entity], steer: PromptConfig) -> Said:
        """Return what it says of the things it names, each fact once.

        Raises:
            BadTurn: it cannot be read. Its usage is what that cost.
        """
        asking = Asking(self._model, self._embedder, self._ontology)
        edges, made = await self._facts(asking, passage, named, steer.instructions)
        hinted: set[str] = set()
        for _ in range(steer.reflexion):
            look = partial(asking.missed_facts, named=named, edges=edges)
            if not (new := _not_hinted(await self._in_halves(passage, look), hinted)):
                break
            hints = steer.join(reflexion.hint_of_facts(new))
            later, more = await self._facts(asking, passage, named, hints)
            edges, made = later_wins(edges, later), united(made, more)
        ends, left_out = sifted(not_named(made, named), all_of_them=steer.instructions is None)
        kept = hung(edges, [*map(convert.to_node, named), *ends])
        facts = {fact.uuid: fact for fact in (_keyed(passage, edge) for edge in kept)}
        return Said(
            facts=tuple(facts.values()),
            endpoints=tuple(map(convert.from_node, ends)),
            discarded=left_out,
            gone=len(edges) - len(kept),
            usage=asking.usage,
        )

    async def _facts(
        self, asking: "Asking", passage: Passage, named: Sequence[Entity], told: str | None
    ) -> Edges:
        async def ask(piece: Passage) -> list[Edges]:
            return [await asking.facts(piece, [convert.to_node(one) for one in named], told)]

        found = await self._in_halves(passage, ask)
        edges = [edge for facts, _ in found for edge in facts]
        return edges, united([], (node for _, made in found for node in made))

    async def _in_halves(
        self, passage: Passage, ask: Callable[[Passage], Awaitable[list[Found]]]
    ) -> list[Found]:
        """Ask about the passage; if it does not fit, about its halves, one after the other."""
        try:
            return await ask(passage)
        except TooLong:
            text = passage.told.content
            pieces = self._halve(text) if self._halve and len(text) > _SHORTEST else ()
            if len(pieces) < 2 or max(map(len, pieces)) >= len(text):  # noqa: PLR2004 - halves
                raise
        found = []
        for place, piece in enumerate(pieces):
            found += await self._in_halves(passage.of(piece, pieces[:place]), ask)
        return found


def _not_hinted(missed: Iterable[str], hinted: set[str]) -> list[str]:
    """Return what is new, and take it down: the same hint gives the same reading."""
    new = [one for one in dict.fromkeys(missed) if one not in hinted]
    hinted.update(new)
    return new


def _keyed(passage: Passage, edge: EntityEdge) -> Fact:
    # Of the part: that a turn says a thing twice is found out when it is resolved.
    ends = edge.source_node_uuid, edge.name, edge.target_node_uuid
    edge.uuid = ids.fact_id(TurnId(passage.key), *ends, edge.fact)
    return convert.from_edge(edge)
