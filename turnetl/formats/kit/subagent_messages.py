"""The tokens of API messages in no turn: of subagents, and of a session before its first prompt."""

from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base import ids
from turnetl.base.model import MessageCounts, SubagentUsage
from turnetl.formats.kit.usage import MessageTokens, Tokens, add_message, total

_Owner = tuple[str, str]
"""Digests of the subagent and of the session that started it."""


@dataclass(slots=True)
class SubagentMessages:
    """The API messages in no turn of one archive, each once."""

    _messages: dict[str, MessageTokens] = field(default_factory=dict)
    """By message id."""
    _owners: dict[str, _Owner] = field(default_factory=dict)

    def add(
        self,
        session: str | None,
        agent: str | None,
        *,
        started_by: str | None,
        key: str | None = None,
        message: MessageTokens,
    ) -> None:
        """Record a message once: it may be repeated with growing counts.

        Args:
            session: id of the session that the archive names.
            agent: id of the subagent within the session, if it has one.
            started_by: id of the session whose agent started it; None: the archive does not say.
            key: id of the message; None: it is not repeated.
            message: its tokens.
        """
        if key in self._owners:
            add_message(self._messages, key, message)
            return
        owner = ids.digest(session or "", agent or "")
        self._add(owner, started_by, key or f"{owner} {len(self._messages)}", message)

    def add_own(self, session: str | None, key: str | None, message: MessageTokens) -> None:
        """Record a message of the session's own agent that belongs to no turn.

        Args:
            session: id of the session.
            key: as for `add`.
            message: its tokens.
        """
        self._add("", session, key or f"{session} {len(self._messages)}", message)

    def _add(self, owner: str, session: str | None, key: str, message: MessageTokens) -> None:
        self._owners.setdefault(key, (owner, ids.digest(session) if session else ""))
        add_message(self._messages, key, message)

    def usage(self) -> tuple[SubagentUsage, ...]:
        """Return the sums by subagent, model and UTC day, sorted."""
        places: dict[tuple[str, str, str, str], list[str]] = {}
        for key, message in self._messages.items():
            place = place_of(*self._owners[key], message.model, message.time)
            places.setdefault(place, []).append(key)
        return tuple(self._sum(places[place]) for place in sorted(places))

    def _sum(self, keys: list[str]) -> SubagentUsage:
        messages = [self._messages[key] for key in keys]
        owner, session = self._owners[keys[0]]
        tokens = [message.tokens() for message in messages]
        times = [message.time for message in messages if message.time is not None]
        counts = [
            MessageCounts(ids.message_digest(key), *one)
            for key, one in zip(keys, tokens, strict=True)
        ]
        return usage_of_messages(
            SubagentUsage(owner, messages[0].model, min(times, default=None), 0, 0, session), counts
        )


def place_of(
    subagent: str, session: str, model: str | None, time: datetime | None
) -> tuple[str, str, str, str]:
    """Return what tells an entry from the others of its archive, as which they are sorted.

    A session's own messages have no subagent that tells sessions apart.
    """
    day = "" if time is None else time.date().isoformat()
    return subagent, "" if subagent else session, model or "", day


def usage_of_messages(entry: SubagentUsage, messages: list[MessageCounts]) -> SubagentUsage:
    """Return an entry with these messages and their sums."""
    sums = total(Tokens(*one[1:]) for one in messages)
    return SubagentUsage(
        entry.subagent,
        entry.model,
        entry.started_at,
        sums.input,
        sums.output,
        entry.session,
        sums.cache_write,
        sums.cache_read,
        sums.reasoning,
        tuple(sorted(messages)),
    )
