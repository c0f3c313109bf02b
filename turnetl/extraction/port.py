"""The Extractor port: a Protocol that turns one episode into changes of its group.

The two phases have plain inputs. `extract` needs only the turn and the earlier turns of its
session, so it may run for the next turns while earlier ones commit. `resolve` needs the group as
it is after the previous commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Protocol, TypeVar

from turnetl.base.ids import RecipeParts
from turnetl.base.model import Entity, Episode, Fact, GroupId, HeldInvalidation, Usage
from turnetl.base.reason import Reason
from turnetl.base.result_fields import TurnIdField
from turnetl.base.results import described
from turnetl.graph.mirror.group import GroupView
from turnetl.llm.chat import ChatMessage


class DiscardReason(Reason):
    """Why an extracted entity or fact is not in the graph."""

    TOO_LONG = "too_long", "The name is a sentence, too long for an index."
    EMPTY = "empty", "The name holds neither a letter nor a digit."
    TEMPORARY_PATH = "temporary_path", "The name is a path in a folder for temporary files."
    UUID = "uuid", "The name contains a UUID."
    HASH = "hash", "The name is a hash or a range of commits."
    PROCESS_ID = "process_id", "The name is the id of a process or a thread."
    RUN_ID = "run_id", "The name is the id of a run, a job, a session or a message."
    LINE_NUMBER = "line_number", "The name is a position in a file."
    PORT = "port", "The name is a port or an address of the local machine."
    DATE = "date", "The name is a date, a time or a duration."
    NUMBER = "number", "The name is a bare number or a quantity."
    GENERIC_WORD = "generic_word", "The name is a word such as `user` or `file`."
    FACTS = "facts", "The fact lost a discarded entity, and its sentence names no other."
    QUOTE = "quote", "The fact says only that something was said or asked; the turn's text has it."
    KNOWN = "known", "The model's fact repeats one that the rules state."


Extracted = TypeVar("Extracted")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The changes that one turn makes to its group: new and changed entities and facts.

    Entities and facts have their final values, new ones first; those that exist in the group under
    the same uuid are replaced. Embeddings may be missing: the pipeline fills them before the
    commit.
    """

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    mentions: tuple[str, ...]
    """Uuids of the entities that the turn mentions, sorted."""
    usage: Usage = field(default_factory=Usage)
    mentioned_in: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By entity uuid: the chunks of a long turn that mention it, ascending, from 0. An entity that
    is missing here has no known chunks."""
    discarded: Mapping[DiscardReason, int] = field(default_factory=dict)
    """Number of discarded names and facts by reason."""
    held: tuple[HeldInvalidation, ...] = ()
    """Invalidations that a person decides about; `facts` does not contain them."""


class Extractor(Protocol[Extracted]):
    """Turns episodes into entities and facts."""

    @property
    def name(self) -> str:
        """The name with which a user selects it."""
        ...

    @property
    def model(self) -> str | None:
        """The language model with its provider, as receipts record it; None if it uses none."""
        ...

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        """Return everything that decides the output, by name: rules, template, ontology, model.

        An empty kind means turns without a template of their own.
        """
        ...

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Extracted:
        """Extract the content of the episode, without the group.

        Args:
            episode: a turn that is not noise and has a `started_at`.
            context: the last turns of the same session, oldest first.

        Raises:
            BadTurn: this turn cannot be extracted; the others can.
        """
        ...

    async def resolve(
        self, episode: Episode, extracted: Extracted, group: GroupView, *, now: datetime
    ) -> Resolved:
        """Match the extracted content against the group. Does not change the group."""
        ...

    async def close(self) -> None:
        """Release all resources. Safe to repeat."""
        ...


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """A request that a run would send to a model."""

    turn_id: TurnIdField
    prompt: Annotated[str, described("Name of the prompt.")]
    model: Annotated[str, described("Provider and model.")]
    messages: Annotated[tuple[ChatMessage, ...], described("The messages, in order.")]
    schema: Annotated[str, described("Name of the schema of the response; empty if it has none.")]
    tokens: Annotated[int, described("Estimated tokens of the messages.")]
    max_tokens: Annotated[int, described("Limit of the tokens of the response.")]
    body: Annotated[
        Mapping[str, Any] | None,
        described("The body of the HTTP request; null if it is not known."),
    ]
    is_cached: Annotated[
        bool, described("Whether the journal holds the response: nothing would be sent.")
    ]
    has_placeholder: Annotated[
        bool, described("Whether a placeholder replaces what an earlier response would name.")
    ]
