"""The port of the search index: catch up with a graph, answer queries, forget turns.

A turn in the index has a key: an integer that is never used again. Scores are given by key.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base.graph_model import CommittedTurn, GroupVersion, Receipt
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.base.results import described
from turnetl.index.index_report import CatchUpReport, IndexStatus
from turnetl.index.selection import Selection
from turnetl.llm.embedders.port import Embedder

Keys = NDArray[np.int64]
"""Keys of turns, ascending."""
_RECEIPTS = msgspec.json.Decoder(Receipt)


class Field(StrEnum):
    """A text of a turn whose words are indexed."""

    TEXT = "text"
    """The whole episode text."""
    PROMPT = "prompt"
    """What the user wrote."""
    FACTS = "facts"
    """The facts of the turn with the names of their entities."""
    PASSAGE = "passage"
    """The passage of the turn that contains most of the words."""


class Condition(StrEnum):
    """A condition of a `Selection` with few values."""

    FORMAT = "format"
    BRANCH = "branch"
    TOOL = "tool"
    LABEL = "label"
    RELATION = "relation"


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A turn as the index holds it."""

    key: int
    turn_id: TurnId
    started_at: datetime
    packed_receipt: bytes
    """As `pack` returns it."""
    packed_text: bytes
    """The episode text as UTF-8, compressed by zlib."""
    previous: int | None
    """Key of the turn before it in its session."""

    @property
    def receipt(self) -> Receipt:
        """The receipt, decoded at each use: few of many candidates need theirs."""
        return unpack(self.packed_receipt, _RECEIPTS)

    @property
    def text(self) -> str:
        """The episode text, decompressed at each use as the receipt."""
        return unpacked_text(self.packed_text)


def unpacked_text(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """A fact with the two entities it is about; neither has an embedding."""

    fact: Annotated[Fact, described("The fact.")]
    source: Annotated[Entity, described("Its source.")]
    target: Annotated[Entity, described("Its target.")]


@dataclass(frozen=True, slots=True)
class PassageTokens:
    """The distinct tokens of the passages of some turns."""

    keys: Keys
    """The turn of each passage; the passages of a turn are adjacent and in order."""
    weights: NDArray[np.float32]
    """How much each passage counts, relative to an ordinary one."""
    tokens: NDArray[np.uint16]
    """The tokens of all passages, one passage after another."""
    starts: NDArray[np.int64]
    """Where the tokens of each passage start. No passage is without tokens."""


ProgressCallback = Callable[[int, int], None]
"""Called with the turns read so far and those to read."""


class FollowedGraph(Protocol):
    """The part of a `GraphStore` that an index reads; its methods are described there."""

    async def versions(self) -> Mapping[GroupId, GroupVersion]: ...

    async def commits(self, group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]: ...

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]: ...

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]: ...

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]: ...

    async def pause(self) -> None: ...


class SearchIndex(Protocol):
    """An index of the turns of one graph."""

    def status(self) -> IndexStatus: ...

    async def catch_up(
        self,
        graph: FollowedGraph,
        embedder: Embedder,
        *,
        now: datetime,
        on_progress: ProgressCallback | None = None,
    ) -> CatchUpReport:
        """Read what changed in the graph since the last call. May be stopped at any point."""
        ...

    def turns_without_questions(self) -> Keys:
        """Return the turns to which `add_questions` never added anything."""
        ...

    async def add_questions(
        self, questions: Mapping[int, Sequence[str]], embedder: Embedder
    ) -> None:
        """Index questions, by the turn's key, as further passages of the turns they answer.

        An unknown key is ignored. The turns get new keys. The questions stay until a turn has
        another text or leaves the index.
        """
        ...

    def forget(self, turns: Collection[TurnId]) -> int:
        """Remove turns and what only they state; return how many there were."""
        ...

    def select(self, selection: Selection) -> Keys:
        """Return the turns that meet all conditions."""
        ...

    def newest(self, selection: Selection, *, limit: int, skip: int = 0) -> Sequence[int]:
        """Return the newest turns that meet all conditions, newest first, after `skip` others."""
        ...

    def selected_facts(self, selection: Selection, keys: Collection[int]) -> Collection[str]:
        """Return the uuids of those facts of the turns that meet the conditions on facts."""
        ...

    def values(self, condition: Condition) -> Sequence[str]:
        """Return all values for which a turn meets the condition, sorted."""
        ...

    def term_shares(
        self, field: Field, terms: Mapping[str, float], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) that contain most of the weighted terms.

        Each has a share from 0 to 1: its BM25 score, divided by a score that no text can exceed.
        """
        ...

    def similarities(
        self, vector: NDArray[np.float32], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) whose passages are most similar to a vector.

        The vector has unit length. Each turn has its best weighted cosine.
        """
        ...

    def passage_tokens(self, keys: Keys) -> PassageTokens: ...

    def token_frequencies(self, tokens: Sequence[int]) -> tuple[NDArray[np.int64], int]:
        """Return how many turns contain each token, and the total number of turns."""
        ...

    def term_frequencies(self, terms: Collection[str]) -> tuple[Mapping[str, int], int]:
        """Return how many turns contain each term in their texts, and the total number of turns.

        Turns that were removed a short time ago may be counted.
        """
        ...

    def turns(self, keys: Collection[int]) -> Mapping[int, IndexedTurn]:
        """Return the turns with these keys; an unknown key is left out."""
        ...

    def texts(self, keys: Collection[int]) -> Mapping[int, str]:
        """Return the episode texts of these turns; an unknown key is left out."""
        ...

    def next_turns(self, keys: Collection[int], selected: Keys | None) -> Collection[int]:
        """Return the turns that follow these in their sessions, of the selected ones."""
        ...

    def facts(self, keys: Collection[int]) -> Mapping[int, Sequence[IndexedFact]]:
        """Return the facts of each turn, oldest first."""
        ...

    def close(self) -> None:
        """Close the files. May be called more than once."""
        ...


T = TypeVar("T")

_DICTIONARY = (
    b'"summary":"","labels":["Command"],"labels":["Error"],"labels":["Concept"],'
    b'"labels":["Package"],"labels":["File"],"relation":"MENTIONED","relation":"DECIDED",'
    b'"relation":"FAILED_WITH","relation":"USED_TOOL","relation":"USES","relation":"ASKED",'
    b'"relation":"RAN","relation":"CREATED","relation":"MODIFIED","text":"The user asked: '
    b'"text":"The agent changed `","text":"`","group_id":"'
    b'"format":"codex","format":"claude_code","session_id":"","ordinal":0,'
    b'"parent_session_id":null,"agent_id":null,"run_id":"","content_hash":"","text_hash":"",'
    b'"chunks":1,"recipe":"","committed_at":"2026-01-01T00:00:00.000000Z","started_at":"2026-01-'
    b'","ended_at":"2025-01-01T00:00:00.000000Z","cwd":"/home/user/git_branch":"main",'
    b'"git_branch":null,"tools":["Bash","Edit","Read","Write","Grep","Glob","Task","TodoWrite"],'
    b'"tools":[],"archive":"/home/.claude/projects/.jsonl","first_line":1,"last_line":'
    b',"usage":{"calls":0,"prompt_tokens":0,"completion_tokens":0,"cost":0.0,"cached_tokens":0,'
    b'"seconds":0.0},"entities_new":0,"facts_new":0,"facts_invalidated":0}'
    b'{"turn_id":"{"uuid":"","group_id":"","name":"","labels":["File"],"summary":"",'
    b'"created_at":"2026-01-01T00:00:00.000000Z","attributes":{},"embedding":null}'
    b'{"uuid":"","group_id":"","source":"","target":"","relation":"MODIFIED","text":"'
    b'","turns":[""],"created_at":"2026-01-01T00:00:00.000000Z",'
    b'"valid_at":"2026-01-01T00:00:00.000000Z","invalid_at":null,"expired_at":null,'
    b'"reference_time":"2026-01-01T00:00:00.000000Z","attributes":{},"embedding":null}'
)


def pack(value: object) -> bytes:
    """Return a value as compressed JSON; the same value gives the same bytes."""
    compressor = zlib.compressobj(zdict=_DICTIONARY)
    return compressor.compress(msgspec.json.encode(value)) + compressor.flush()


def unpack(packed: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value that was packed."""
    decompressor = zlib.decompressobj(zdict=_DICTIONARY)
    return decoder.decode(decompressor.decompress(packed) + decompressor.flush())
