"""Calls of Graphiti's extraction functions for one chunk of a turn, and what they need around them.

Graphiti computes the forms of every candidate name, and their MinHash signature, again for every
turn: 87 names, half of its CPU time. It has no hook for this, so this module replaces functions of
`graphiti_core.utils.maintenance.dedup_helpers` with ones that return the same values: the signature
with a faster one, the others with themselves behind a cache. They are the only part of Graphiti
that turnetl replaces; a test fails when Graphiti changes the signature.

Graphiti warns of what a model often does, as of facts that name entities which were not extracted,
on its own loggers. Nobody can act on it, and a library must not print. Its messages may quote a
turn, so that only their templates and numbers are logged, in turnetl's own log.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

import numpy as np
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.utils.maintenance import dedup_helpers
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import extract_edges
from graphiti_core.utils.maintenance.node_operations import extract_nodes
from numpy.typing import NDArray

from turnetl.base import ids
from turnetl.base.model import Entity, Episode, TurnId
from turnetl.extraction.llm import reflexion
from turnetl.extraction.llm.clients import MeteredCalls
from turnetl.graph.mirror import convert
from turnetl.llm.costs import set_in_context

ExtractedEdges = tuple[list[EntityEdge], list[EntityNode]]
"""Edges, and the nodes that only the edges name."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    episode: EpisodicNode
    previous: list[EpisodicNode]
    """The context that the prompts show, oldest first."""
    key: str
    """Key of the chunk; the keys of its facts derive from it."""
    known: Sequence[str] | None = None
    """Facts of the turn that rules state, which a model need not; None: no rules read it."""

    def piece(self, text: str, earlier: Sequence[str]) -> "ExtractionInput":
        """Return the input for a piece of the chunk; `earlier` pieces become abridged context."""
        episode = self.episode.model_copy(update={"content": text})
        previous = self.abridged().previous
        if earlier:
            content = head_and_tail(earlier)
            previous.append(self.episode.model_copy(update={"content": content}))
        return replace(self, episode=episode, previous=previous)

    def mention_key(self, node: EntityNode) -> str:
        return ids.mention_id(TurnId(self.episode.uuid), _normalize_string_exact(node.name))

    def abridged(self) -> "ExtractionInput":
        """Return the input with every text reduced to head and tail, for a prompt that is full."""
        previous = [abridged(node) for node in self.previous]
        return replace(self, episode=abridged(self.episode), previous=previous)


class GraphitiCalls(MeteredCalls):
    """Calls Graphiti's extraction functions; each call is independent of the others."""

    async def entities(self, source: ExtractionInput, instructions: str | None) -> list[EntityNode]:
        nodes, _ = await self._metered(
            lambda clients: extract_nodes(
                clients.bundle,
                source.episode,
                source.previous,
                self.ontology.entity_types,
                custom_extraction_instructions=instructions,
            )
        )
        for node in nodes:
            node.uuid = source.mention_key(node)
            # Graphiti takes them from a set, whose order differs between processes.
            node.labels.sort()
        return nodes

    async def facts(
        self, source: ExtractionInput, nodes: list[EntityNode], instructions: str | None
    ) -> ExtractedEdges:
        edges, endpoints = await self._metered(
            lambda clients: extract_edges(
                clients.bundle,
                source.episode,
                # A copy, because Graphiti appends the endpoints that it creates.
                list(nodes),
                source.previous,
                self.ontology.edge_type_map,
                source.episode.group_id,
                self.ontology.edge_types,
                custom_extraction_instructions=instructions,
            )
        )
        keys = {node.uuid: source.mention_key(node) for node in endpoints}
        for node in endpoints:
            node.uuid = keys[node.uuid]
        for edge in edges:
            edge.source_node_uuid = keys.get(edge.source_node_uuid, edge.source_node_uuid)
            edge.target_node_uuid = keys.get(edge.target_node_uuid, edge.target_node_uuid)
            _set_dates(edge, source.episode.valid_at)
        return edges, endpoints

    async def missed_entities(
        self, source: ExtractionInput, nodes: Sequence[EntityNode]
    ) -> list[str]:
        return await self._metered(
            lambda clients: reflexion.entities(
                clients.model, source.episode, source.previous, nodes
            )
        )

    async def missed_facts(
        self, source: ExtractionInput, entities: Sequence[Entity], edges: Sequence[EntityEdge]
    ) -> list[str]:
        nodes = [convert.to_node(entity) for entity in entities]
        return await self._metered(
            lambda clients: reflexion.facts(
                clients.model, source.episode, source.previous, nodes, edges
            )
        )


def _set_dates(edge: EntityEdge, turn_time: datetime) -> None:
    """Date a fact without a date from its turn; keep only the end of one that ends before it began.

    Models take the turn's time as the start even where the text says that it ended long before.
    """
    if edge.invalid_at is None:
        edge.valid_at = edge.valid_at or turn_time
    elif edge.valid_at is not None and edge.invalid_at < edge.valid_at:
        edge.valid_at = None


_MAX_NAMES, _MAX_SHINGLES = 4_000, 60_000
"""Cache entries: 20 MB each. There are no more than 60,000 shingles of three letters, digits or
apostrophes."""

_Input = TypeVar("_Input")
_Form = TypeVar("_Form")


def _cached(function: Callable[[_Input], _Form]) -> Callable[[_Input], _Form]:
    return lru_cache(maxsize=_MAX_NAMES)(function)


# Taken before they are replaced, so that a cache is never cached again.
_FORMS = {
    name: _cached(getattr(dedup_helpers, name))
    for name in ("_normalize_string_exact", "_normalize_name_for_fuzzy", "_shingles", "_lsh_bands")
}


def cache_forms_of_names() -> None:
    """Replace Graphiti's functions with the cached ones. Safe to repeat."""
    for name, function in _FORMS.items():
        setattr(dedup_helpers, name, function)
    dedup_helpers._minhash_signature = _signature  # noqa: SLF001 - see above


def _signature(shingles: Iterable[str]) -> tuple[int, ...]:
    return _cached_signature(frozenset(shingles))


@lru_cache(maxsize=_MAX_NAMES)
def _cached_signature(shingles: frozenset[str]) -> tuple[int, ...]:
    if not shingles:
        return ()
    least: NDArray[np.uint64] = np.minimum.reduce([_hashes(shingle) for shingle in shingles])
    return tuple(least.tolist())


@lru_cache(maxsize=_MAX_SHINGLES)
def _hashes(shingle: str) -> NDArray[np.uint64]:
    seeds = range(dedup_helpers._MINHASH_PERMUTATIONS)  # noqa: SLF001 - see above
    hashes = [dedup_helpers._hash_shingle(shingle, seed) for seed in seeds]  # noqa: SLF001
    return np.array(hashes, dtype=np.uint64)


log = logging.getLogger(__name__)

_GRAPHITI = "graphiti_core"
_UNSTARTED = r"coroutine '\w*(search|embeddings|_edge)' was never awaited"
_is_called: ContextVar[bool] = ContextVar("turnetl_calls_graphiti", default=False)


def route_graphiti_log() -> None:
    """Let the loggers of Graphiti's imported modules log to turnetl's within `called`.

    What Graphiti logs when another program calls it stays as it is. Safe to repeat.
    """
    # Of searches that Graphiti was about to start when a run stopped.
    warnings.filterwarnings("ignore", _UNSTARTED, RuntimeWarning)
    for name, logger in [*logging.root.manager.loggerDict.items()]:
        is_graphiti = f"{name}.".startswith(f"{_GRAPHITI}.")
        if is_graphiti and isinstance(logger, logging.Logger):
            logger.addFilter(_logged_here)  # Adds it once.


def logged_by_turnetl() -> AbstractContextManager[None]:
    """Mark what runs inside, with the tasks that it starts, as turnetl's use of Graphiti."""
    return set_in_context(_is_called, True)


def _logged_here(record: logging.LogRecord) -> bool:
    """Log the record here if turnetl called Graphiti; return whether Graphiti logs it."""
    if not _is_called.get():
        return True
    arguments = record.args if isinstance(record.args, tuple) else ()
    text = record.msg if arguments and isinstance(record.msg, str) else "a message with its texts"
    numbers = [one for one in arguments if isinstance(one, int)]
    place = f"{record.name}:{record.lineno}"
    log.debug("Graphiti: %s", text, extra={"logger": place, "numbers": numbers})
    return False


_LONG = 2000, 4000
"""Characters of the head, which has the prompt of the turn, and of the tail, which the next chunk
continues, of a text that is too long to show in full."""
_SHORT = 500, 1000
"""The same for earlier turns, which only explain what "it" and "that file" refer to: both prompts
of an extraction contain them, and in full they were most of the cost of a turn."""
_OMISSION = "\n\n[...]\n\n"


def chunk_nodes(episode: Episode) -> Iterator[EpisodicNode]:
    for number, chunk in enumerate(episode.chunks):
        yield convert.to_episodic_node(episode, chunk, number)


def previous_turns(
    episode: Episode, chunk: int, context: Sequence[Episode], *, full: bool
) -> list[EpisodicNode]:
    """Return the context of a chunk: earlier turns, oldest first, then its turn's earlier chunks.

    Long texts are reduced to head and tail, so that the cost of a long turn grows linearly with its
    length. With `full`, earlier turns of one chunk are shown in full, as Graphiti does.
    """
    turns = [
        convert.to_episodic_node(turn, _earlier_turn(turn.chunks, full=full)) for turn in context
    ]
    earlier = episode.chunks[:chunk]
    return turns + ([convert.to_episodic_node(episode, head_and_tail(earlier))] if chunk else [])


def head_and_tail(chunks: Sequence[str], head: int = _LONG[0], tail: int = _LONG[1]) -> str:
    """Return the head of the first and the tail of the last chunk; one short chunk in full."""
    if len(chunks) == 1 and len(chunks[0]) <= head + tail:
        return chunks[0]
    return f"{_head(chunks[0], head)}{_OMISSION}{_tail(chunks[-1], tail)}"


def abridged(node: EpisodicNode) -> EpisodicNode:
    return node.model_copy(update={"content": head_and_tail([node.content], *_SHORT)})


def _earlier_turn(chunks: Sequence[str], *, full: bool) -> str:
    if not full:
        return head_and_tail(chunks, *_SHORT)
    return chunks[0] if len(chunks) == 1 else head_and_tail(chunks)


def _head(text: str, limit: int) -> str:
    space = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    return text if len(text) <= limit else text[: space if space > limit // 2 else limit]


def _tail(text: str, limit: int) -> str:
    start = len(text) - limit
    if start <= 0:
        return text
    space = text.find(" ", start, start + limit // 2)
    return text[space + 1 if space >= 0 else start :]
