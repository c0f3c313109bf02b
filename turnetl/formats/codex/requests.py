"""The tokens of requests, which rows of two kinds report.

A `token_count` says what the last request used and what the session has used so far; it is repeated
whenever the rate limits change. Newer versions also write a `token_usage_record` for each response,
and for compaction only that.

Counts may be lost with damaged lines. What a total has more than the total before it and the last
request together is then counted as one request, as far as that is certain: a process that resumes
or forks a session continues totals that this rollout may lack, and they start again at zero when
the context window is full.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import astuple

from turnetl.base import ids
from turnetl.formats.codex.rows import CodexItem
from turnetl.formats.kit.usage import OpenAIUsage

_Size = tuple[int | None, int | None]


class Request(NamedTuple):
    usage: OpenAIUsage
    response_id: str | None
    place: str
    """What tells it from other requests of its session; the same in a copy of its row."""
    is_lost: bool = False
    """Whether it stands for requests whose own rows are lost."""

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
    _has_records: bool = False
    _without_id: Counter[str] = field(default_factory=Counter)
    _base: OpenAIUsage | None = None
    """The total that the next one continues; None if it may continue another one."""
    _is_continuous: bool = True
    """Whether each total since the process started had at least the one before and the request."""

    def restart(self) -> None:
        """Expect the totals of another process, or of another session."""
        self._base, self._is_continuous = None, True

    def read(self, item: CodexItem, *, is_copied: bool) -> list[Request]:
        """Return the requests that a row reports and no other row did; lost ones as one, first."""
        if item.usage is not None:
            self._has_records = True
            found = [self._read_record(item, item.usage)]
        else:
            found = [self._read_lost(item, is_copied=is_copied), self._read_count(item)]
        return [request for request in found if request is not None]

    def _read_lost(self, item: CodexItem, *, is_copied: bool) -> Request | None:
        info = item.info
        if info is None or (total := info.total_token_usage) is None:
            return None
        before, self._base = self._base, None if is_copied or None in _size(total) else total
        last = info.last_token_usage
        if before is None or is_copied or last is None or total == before:
            return None
        lost = _between(before, total, last)
        known = [value for value in astuple(lost) if value is not None]
        self._is_continuous = self._is_continuous and min(known) >= 0
        # Records report requests that the counts leave out.
        if self._has_records or not self._is_continuous or not any(_size(lost)):
            return None
        return Request(lost, None, _place("lost", total, lost), is_lost=True)

    def _read_count(self, item: CodexItem) -> Request | None:
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
    if total is None:
        return None
    pairs = zip(astuple(total), astuple(before or OpenAIUsage()), strict=True)
    return OpenAIUsage(*(None if now is None else max(now - (then or 0), 0) for now, then in pairs))


def _between(before: OpenAIUsage, total: OpenAIUsage, last: OpenAIUsage) -> OpenAIUsage:
    """Return what a total has more than the one before and the last request, perhaps below 0."""
    values = zip(astuple(before), astuple(total), astuple(last), strict=True)
    rest = (
        None if then is None or now is None else now - then - (own or 0)
        for then, now, own in values
    )
    return OpenAIUsage(*rest)


def _size(usage: OpenAIUsage) -> _Size:
    return usage.input_tokens, usage.output_tokens


def _place(kind: str, total: OpenAIUsage | None, usage: OpenAIUsage) -> str:
    values = astuple(total) if total is not None else ()
    return ids.digest(kind, *map(str, values), "last", *map(str, astuple(usage)))
