"""The seam to an extractor: what a turn says, and what that means for its group.

Two phases with plain inputs. `extract` needs the turn and the turns before it in its session, so it
may run ahead for the next turns while earlier ones commit; `resolve` needs the group as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import Entity, Episode, Fact, GroupId, Usage

Extracted = TypeVar("Extracted")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a turn does to its group: new things, and things that shall be different.

    Entities and facts are as they shall be, new ones first; those that exist in the group under the
    same uuid are replaced. Embeddings may be missing: the pipeline fills them before the commit.
    """

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    mentions: tuple[str, ...]
    usage: Usage = field(default_factory=Usage)
    mentioned_in: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The parts of a long turn that speak of an entity, ascending, from 0, by its uuid; of those
    that are not named here it is not known."""
    discarded: Mapping[str, int] = field(default_factory=dict)
    """What a model named and nobody would look for, by reason: words of `extraction.stoplist`, and
    `facts` that had nothing else to hang on."""


class Extractor(Protocol[Extracted]):
    """One way to turn episodes into entities and facts."""

    def recipe(self, group: GroupId, kind: str = "") -> str:
        """Return the digest of all that decides what comes out: rules, template, ontology, model.

        Args:
            group: whose turns.
            kind: of the turn; none stands for turns that have no template of their own.
        """
        ...

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Extracted:
        """Say what the episode holds.

        Args:
            episode: a kept turn with a `started_at`.
            context: the last turns of the same session, oldest first.

        Raises:
            BadTurn: this turn cannot be extracted; the others can.
        """
        ...

    async def resolve(
        self, episode: Episode, extracted: Extracted, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        """Match what was extracted against the group; changes nothing in it."""
        ...

    async def close(self) -> None:
        """Let go of what was opened for it. Safe to repeat."""
