"""The tokens of subagents whose rows are in no turn, each API message once."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from turnetl import ids
from turnetl.model import SubagentUsage


@dataclass(slots=True)
class SubagentMessages:
    """The API messages of the subagents of one archive."""

    _messages: dict[str, SubagentUsage] = field(default_factory=dict)
    """By message id."""

    def add(
        self,
        session: str | None,
        agent: str | None,
        *,
        started_by: str | None,
        key: str | None = None,
        model: str | None,
        time: datetime | None,
        tokens: tuple[int | None, int | None],
    ) -> None:
        """Record a message once: it may be repeated with growing counts.

        Args:
            session: id of the session that the archive names.
            agent: id of the subagent within the session, if it has one.
            started_by: id of the session whose agent started it; None: the archive does not say.
            key: id of the message; None: it is not repeated.
            model: that was called.
            time: of the message.
            tokens: input and output.
        """
        key = f"id {key}" if key is not None else f"number {len(self._messages)}"
        message = SubagentUsage(
            ids.digest(session or "", agent or ""),
            model,
            time,
            tokens[0] or 0,
            tokens[1] or 0,
            ids.digest(started_by) if started_by else "",
        )
        first = self._messages.setdefault(key, message)
        if first is not message:
            self._messages[key] = replace(
                first,
                input_tokens=max(first.input_tokens, message.input_tokens),
                output_tokens=max(first.output_tokens, message.output_tokens),
            )

    def usage(self) -> tuple[SubagentUsage, ...]:
        """Return the sums by subagent, model and UTC day, sorted."""
        sums: dict[tuple[str, str, str], SubagentUsage] = {}
        for one in self._messages.values():
            day = "" if one.started_at is None else one.started_at.date().isoformat()
            place = one.subagent, one.model or "", day
            sums[place] = _sum(sums[place], one) if place in sums else one
        return tuple(sums[place] for place in sorted(sums))


def _sum(one: SubagentUsage, other: SubagentUsage) -> SubagentUsage:
    """Return the sum of two of the same subagent, model and day."""
    times = [time for time in (one.started_at, other.started_at) if time is not None]
    return replace(
        one,
        started_at=min(times, default=None),
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
    )
