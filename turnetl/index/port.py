"""What a search index takes and gives, and how its catalog packs values.

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

Keys = NDArray[np.int64]
"""Keys of turns, ascending."""

Alternatives = Mapping[str, Sequence[tuple[str, ...]]]
"""What stands for a term of a query: terms, or several that a text must all have."""
NO_ALTERNATIVES: Alternatives = {}


class Field(StrEnum):
    """A text of a turn whose words are indexed."""

    TEXT = "text"
    """The whole episode text."""
    PROMPT = "prompt"
    FACTS = "facts"
    """The facts of the turn with the names of their entities."""
    PASSAGE = "passage"
    """The passage of the turn that contains most of the words."""


class Condition(StrEnum):
    FORMAT = "format"
    BRANCH = "branch"
    TOOL = "tool"
    LABEL = "label"
    RELATION = "relation"


@dataclass(frozen=True, slots=True)
class IndexedTurn:
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
        return unpack(self.packed_receipt, RECEIPTS)

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


RECEIPTS = msgspec.json.Decoder(Receipt)
ENTITIES = msgspec.json.Decoder(Entity)
FACTS = msgspec.json.Decoder(Fact)
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
"""Field names and usual values: a packed value is too short to be compressed by itself. They are
part of the catalog's format: a change of them is a new version of the catalog."""


def pack(value: object) -> bytes:
    """Return a value as compressed JSON; the same value gives the same bytes."""
    compressor = zlib.compressobj(zdict=_DICTIONARY)
    return compressor.compress(msgspec.json.encode(value)) + compressor.flush()


def unpack(packed: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value that was packed."""
    decompressor = zlib.decompressobj(zdict=_DICTIONARY)
    return decoder.decode(decompressor.decompress(packed) + decompressor.flush())
