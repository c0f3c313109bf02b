"""The tokens of requests, which rows of two kinds report.

A `token_count` says what the last request used and what the session has used so far; it is repeated
whenever the rate limits change. Newer versions also write a `token_usage_record` for each response,
and for compaction only that.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import astuple

from turnetl import ids
from turnetl.formats.codex.rows import CodexItem
from turnetl.formats.kit.usage import OpenAIUsage

_Size = tuple[int | None, int | None]


class Request(NamedTuple):
    """The tokens of one request."""

    usage: OpenAIUsage
    response_id: str | None
    place: str
    """What tells it from other requests of its session; the same in a copy of its row."""

    def key(self, session: str) -> str:
        """Return what identifies it in all archives."""
        return self.response_id or f"{session} {self.place}"


@dataclass(slots=True)
class Requests:
    """The requests of one rollout, each once."""

    _total: OpenAIUsage | None = None
    """What the session has used so far."""
    _recorded: Counter[_Size] = field(default_factory=Counter)
    """Records that no count repeated yet."""
    _counted: Counter[_Size] = field(default_factory=Counter)
    """Counts that no record repeated yet."""
    _without_id: Counter[str] = field(default_factory=Counter)

    def read(self, item: CodexItem) -> Request | None:
        """Return the request that a row reports; None: it reports none, or other rows did."""
        if item.usage is not None:
            return self._read_record(item, item.usage)
        usage = self._new_count(item)
        if usage is None:
            return None
        size = _size(usage)
        if self._recorded[size]:
            self._recorded[size] -= 1
            return None
        self._counted[size] += 1
        return Request(usage, None, _place("count", self._total, usage))

    def _read_record(self, item: CodexItem, usage: OpenAIUsage) -> Request | None:
        size = _size(usage)
        if self._counted[size]:
            self._counted[size] -= 1
            return None
        place = _place(f"record {item.turn_id}", None, usage)
        if item.response_id is None:
            # Two requests of a turn may use the same.
            self._without_id[place] += 1
            place = f"{place} {self._without_id[place]}"
        self._recorded[size] += 1
        return Request(usage, item.response_id, place)

    def _new_count(self, item: CodexItem) -> OpenAIUsage | None:
        """Return the usage in a `token_count`, unless it repeats the one before it."""
        if item.info is None:
            return None
        total, before = item.info.total_token_usage, self._total
        self._total = total or before
        if total is None or total != before:
            return item.info.last_token_usage or _difference(total, before)
        return None


def _difference(total: OpenAIUsage | None, before: OpenAIUsage | None) -> OpenAIUsage | None:
    """Return what was used since an earlier total."""
    if total is None:
        return None
    pairs = zip(astuple(total), astuple(before or OpenAIUsage()), strict=True)
    return OpenAIUsage(*(None if now is None else max(now - (then or 0), 0) for now, then in pairs))


def _size(usage: OpenAIUsage) -> _Size:
    return usage.input_tokens, usage.output_tokens


def _place(kind: str, total: OpenAIUsage | None, usage: OpenAIUsage) -> str:
    values = astuple(total) if total is not None else ()
    return ids.digest(kind, *map(str, values), "last", *map(str, astuple(usage)))
