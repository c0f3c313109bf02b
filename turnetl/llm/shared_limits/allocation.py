"""The exchange of a process with the shared state: it reports, returns its block, gets another.

The limits hold because everything that was granted and may still be used counts as used. A process
that does not report keeps its block until it expires, and its slots until its requests have ended.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from turnetl.llm.limiter import ProviderLimits, TokenEstimate
from turnetl.llm.shared_limits.store import LimitsState, Member, bucket, bucket_end


@dataclass(frozen=True, slots=True)
class Report:
    """What a process did since its last exchange, and what it needs. It returns its last block."""

    owner: str
    """The process; unique."""
    batch: int
    """Number of `started` and `tokens`. One that failed is reported again with its number: it may
    have arrived."""
    limits: ProviderLimits
    """The settings of the process."""
    usage: Mapping[int, tuple[int, int]]
    """Requests that were started and tokens, by bucket of the time. Tokens may be negative: the
    estimate was too high."""
    in_flight: int
    slots: int
    """Requests in flight that it wants, with those that are."""
    waiting: int
    """Requests that wait."""
    expected: int
    """Requests that it may start before its next exchange, besides those that wait."""
    head_tokens: int
    """Tokens of the request that is next."""
    mean_tokens: int
    """Tokens of a request, on average."""
    request_seconds: float
    """A request is in flight for this time at most."""
    leaving: bool = False
    """It needs nothing any more. None of its requests is in flight."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a process may do until its next exchange. Times are those of the state, in seconds."""

    time: float
    """Of the exchange."""
    until: float
    """No request may be started after it."""
    requests: int
    """Requests that may be started."""
    tokens: int
    """Tokens that they may use."""
    slots: int
    """Requests that may be in flight; may be fewer than there are."""
    limits: ProviderLimits
    """The limits that hold: the lowest of all processes."""
    is_met: bool
    """Whether it gets all requests that it wanted: when they are used, there may be more."""
    pause: float
    """Seconds after which another exchange may give more."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Constants of an exchange; a test may use a shorter minute."""

    window: float
    """Seconds for which a request counts."""
    burst: float
    """Share of the window's requests that may start without spacing."""
    is_dead: Callable[[str], bool]
    """Called with an owner; True if its process is known to have ended."""


class Block:
    """Requests, tokens and slots of the last grant, less what was used."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.grant: Grant | None = None
        """The last one; None while an exchange is under way or after one that failed."""
        self.granted_at = 0.0
        """In seconds on the monotonic clock of this process."""
        self.is_new = True
        """Whether there was no grant yet: the time of the state is not known."""
        self._state_time = 0.0
        """The time of the state at `granted_at`."""
        self._requests = 0
        self._tokens = 0
        self._usage: dict[int, tuple[int, int]] = {}
        self._batch = 0
        self._reported: dict[int, tuple[int, int]] | None = None
        """Usage in an exchange that is under way or failed."""

    @property
    def slots(self) -> int:
        return self.grant.slots if self.grant is not None else 0

    def allows(self, tokens: int) -> bool:
        """Return whether a request with this number of tokens may start now."""
        if self.grant is None or self._requests < 1 or self._tokens < tokens:
            return False
        return self._clock() - self.granted_at < self.grant.until - self.grant.time

    def take(self, tokens: int) -> float:
        """Use a request and its tokens; return the time on the clock of the state."""
        self._requests -= 1
        self._tokens -= tokens
        at = self.time(self._clock())
        self.add_usage(at, 1, tokens)
        return at

    def add_usage(self, at: float, requests: int, tokens: int) -> None:
        """Add to what the next exchange reports; tokens may be negative."""
        counted, used = self._usage.get(bucket(at), (0, 0))
        self._usage[bucket(at)] = (counted + requests, used + tokens)

    def time(self, now: float) -> float:
        """Return the time of the state for one of this process's clock."""
        return self._state_time + now - self.granted_at

    def give_back(self) -> tuple[int, Mapping[int, tuple[int, int]]]:
        """Hold nothing any more; return what was used, and the number of this batch.

        What an exchange reported that failed is returned again: it may have arrived.
        """
        self.grant = None
        self._requests = self._tokens = 0
        if self._reported is None:
            self._batch += 1
            self._reported, self._usage = self._usage, {}
        return self._batch, self._reported

    def replace(self, grant: Grant, at: float) -> None:
        """Hold what was granted in an exchange at that time of this process's clock."""
        self._reported = None
        self.grant, self.granted_at, self.is_new = grant, at, False
        self._state_time = grant.time
        self._requests, self._tokens = grant.requests, grant.tokens


_LEARNING_RATE = 0.1


class Demand:
    """The requests of a process."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.reported_in_flight = 0
        """As of the last exchange."""
        self._most_in_flight = 0
        """Since the last exchange."""
        self._started = 0
        """Since the last exchange."""
        self._expected = 0
        self._estimate = TokenEstimate()
        self._mean_tokens: float | None = None
        self._head: int | None = None
        """Characters of the request that waits."""
        self._waiting: Callable[[], int] = int

    @property
    def is_waiting(self) -> bool:
        return self._head is not None

    @property
    def is_idle(self) -> bool:
        return not (self.is_waiting or self.in_flight or self._started)

    @property
    def waiting(self) -> int:
        return max(self._waiting(), int(self.is_waiting))

    @property
    def slots(self) -> int:
        return max(self.in_flight + self.waiting, self._most_in_flight)

    @property
    def expected(self) -> int:
        """Twice as many as since the last exchange: a process that gets faster is not held up."""
        return max(2 * self._started, self._expected // 2)

    @property
    def head_tokens(self) -> int:
        """Tokens of the request that waits, or of an average one."""
        return self._tokens(self._head) if self._head is not None else self.mean_tokens

    @property
    def mean_tokens(self) -> int:
        if self._mean_tokens is None:
            return self._tokens(self._head or 0)
        return math.ceil(self._mean_tokens)

    @contextmanager
    def head(self, characters: int, waiting: Callable[[], int]) -> Iterator[None]:
        """Note that a request waits; arguments as of `AdmissionLimits.acquire`."""
        self._head, self._waiting = characters, waiting
        try:
            yield
        finally:
            self._head = None

    def hold(self) -> None:
        self.in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self.in_flight)

    def start(self, characters: int) -> int:
        """Count a request as started; return the estimate of its tokens."""
        self._started += 1
        tokens = self._tokens(characters)
        mean = self._mean_tokens
        self._mean_tokens = tokens if mean is None else mean + _LEARNING_RATE * (tokens - mean)
        return tokens

    def release(self) -> None:
        self.in_flight -= 1

    def learn(self, characters: int, tokens: int) -> None:
        self._estimate.learn(characters, tokens)

    def exchanged(self, report: Report) -> None:
        self._expected, self._started = report.expected, 0
        self.reported_in_flight = report.in_flight
        self._most_in_flight = self.in_flight

    def _tokens(self, characters: int) -> int:
        return math.ceil(self._estimate.tokens(characters))


BLOCK_SECONDS = 3.0
"""A block may be used for this time; longer if the processes take turns less often."""
_PAUSE = 0.25
"""Seconds between the exchanges of a process that wants more."""
_EXCHANGES_PER_SECOND = 50
"""Of all processes together: with many, each waits longer between its exchanges."""
_TURN = 10.0
"""Seconds after which slots that cannot be divided equally go to the next processes."""
_MARGIN = 10.0
"""Seconds after the timeout of a request in which it ends."""


def exchange(state: LimitsState, report: Report, now: float, rules: Rules) -> Grant:
    """Change the state by a report, and return what the process is granted.

    `now` is the time of the state, not before its last exchange.
    """
    state.time = now
    member = state.members.pop(report.owner, None)
    is_new = member is None or member.batch != report.batch
    if is_new:
        _count(state, report)
    _expire(state, now, rules)
    limits = _lowest(state, report.limits, now)
    if member is not None:
        started = sum(requests for requests, _ in report.usage.values()) if is_new else 0
        _space(state, min(started - member.requests, 0), limits, rules)
    if report.leaving:
        return Grant(now, now, 0, 0, 0, limits, is_met=False, pause=0.0)
    allocation = _Allocation(state, report, member=member, now=now, limits=limits, rules=rules)
    grant, state.members[report.owner] = allocation.grant()
    _space(state, grant.requests, limits, rules)
    return grant


@dataclass
class _Allocation:
    state: LimitsState
    report: Report
    member: Member | None
    now: float
    limits: ProviderLimits
    rules: Rules

    def __post_init__(self) -> None:
        count = len(self.state.members) + 1
        self._pause = max(_PAUSE, count / _EXCHANGES_PER_SECOND)
        self._block_seconds = max(BLOCK_SECONDS, 3 * self._pause)
        fresh = self.now - self._block_seconds
        self._present = {
            owner: other for owner, other in self.state.members.items() if other.seen >= fresh
        }
        """Others that take part at the moment."""
        is_waiting = self.member is not None and self.member.unmet > 0
        self._since = self.member.waiting_since if self.member and is_waiting else self.now

    def grant(self) -> tuple[Grant, Member]:
        report, now = self.report, self.now
        slots = self._slots()
        wanted = self._wanted(slots)
        requests, tokens = self._requests_and_tokens(wanted)
        if requests or not wanted:
            self._since = now
        until = now + self._block_seconds
        member = Member(
            batch=report.batch,
            limits=_as_tuple(report.limits),
            seen=now,
            slots=max(slots, report.in_flight),
            slots_until=until + report.request_seconds + _MARGIN,
            requests=requests,
            tokens=tokens,
            until=until,
            wanted_slots=report.slots,
            unmet=wanted - requests,
            head_tokens=report.head_tokens,
            waiting_since=self._since,
        )
        pause = self._pause if requests else max(self._pause, self._seconds_to_next())
        pause = min(pause, self._block_seconds / 2)
        is_met = 0 < wanted == requests
        grant = Grant(now, until, requests, tokens, slots, self.limits, is_met=is_met, pause=pause)
        return grant, member

    def _slots(self) -> int:
        concurrency, now = self.limits.concurrency, self.now
        others = {
            owner: other.wanted_slots if owner in self._present else other.slots
            for owner, other in self.state.members.items()
            if other.slots_until > now
        }
        wants = {**others, self.report.owner: self.report.slots}
        owners = sorted(wants)
        # Slots that cannot be divided equally go to the first ones, who are others from time to
        # time: with one slot and two processes each has its turn.
        first = int(now / _TURN) % len(owners)
        owners = owners[first:] + owners[:first]
        shares = fair_shares(concurrency, [wants[owner] for owner in owners])
        free = concurrency - sum(self.state.members[owner].slots for owner in others)
        return max(0, min(shares[owners.index(self.report.owner)], free))

    def _wanted(self, slots: int) -> int:
        """Return how many requests the process can start; without a slot it needs none."""
        report = self.report
        if not slots:
            return 0
        startable = max(0, slots - report.in_flight) + report.expected
        return min(report.waiting + report.expected, startable)

    def _requests_and_tokens(self, wanted: int) -> tuple[int, int]:
        competitors = sorted(
            (other.waiting_since, owner)
            for owner, other in self._present.items()
            if other.unmet > 0
        )
        elders = [owner for since, owner in competitors if since < self._since]
        younger = [owner for since, owner in competitors if since >= self._since]
        unmet = [self._present[owner].unmet for owner in (*elders, *younger)]
        unmet.insert(len(elders), wanted)
        requests = fair_shares(self._free_requests(sum(unmet)), unmet)[len(elders)]
        if not requests:
            return 0, 0
        tokens = self._tokens(requests, elders, len(unmet))
        if not tokens:
            return 0, 0
        mean = max(self.report.mean_tokens, 1)
        return min(requests, max(1, tokens // mean)), tokens

    def _free_requests(self, unlimited: int) -> int:
        """Return how many requests all processes may start now; `unlimited` without a limit."""
        per_minute = self.limits.requests_per_minute
        if per_minute is None:
            return unlimited
        rules = self.rules
        used = sum(requests for requests, _ in self.state.usage.values())
        granted = sum(other.requests for other in self.state.members.values())
        ahead = self.now + rules.burst * rules.window - self.state.spaced
        spaced = math.floor(ahead * per_minute / rules.window + _EPSILON) + 1
        return max(0, min(per_minute - used - granted, spaced))

    def _tokens(self, requests: int, elders: Sequence[str], competitors: int) -> int:
        """Return the tokens for these requests; 0 if there are too few for the next one.

        The next request of a process is served whole or not at all, those that wait longest first.
        """
        head = self.report.head_tokens
        wanted = max(head, requests * self.report.mean_tokens, 1)
        per_minute = self.limits.tokens_per_minute
        if per_minute is None:
            return wanted
        used = sum(tokens for _, tokens in self.state.usage.values())
        used += sum(other.tokens for other in self.state.members.values())
        reserved = sum(self._present[owner].head_tokens for owner in elders)
        free = per_minute - used - reserved
        if head > free:
            # A request larger than the limit is sent when all others are done.
            return head if head > per_minute and used <= 0 and not elders else 0
        return min(wanted, max(1, head + (free - head) // competitors), free)

    def _seconds_to_next(self) -> float:
        per_minute = self.limits.requests_per_minute
        if per_minute is None:
            return 0.0
        state, rules = self.state, self.rules
        spaced = state.spaced - rules.burst * rules.window
        counted = [(bucket_end(number), count) for number, (count, _) in state.usage.items()]
        counted += [(other.until, other.requests) for other in state.members.values()]
        excess = sum(count for _, count in counted) + 1 - per_minute
        free_at = self.now
        for end, count in sorted(counted):
            if excess <= 0:
                break
            excess -= count
            free_at = end + rules.window
        return max(spaced, free_at) - self.now


_EPSILON = 1e-9
"""The rounding of floats must not cost a request."""


def _expire(state: LimitsState, now: float, rules: Rules) -> None:
    state.usage = {
        number: used
        for number, used in state.usage.items()
        if bucket_end(number) + rules.window > now
    }
    for owner, member in list(state.members.items()):
        if member.slots and rules.is_dead(owner):
            # Its connections are closed; its block may have been used.
            member.slots, member.slots_until = 0, now
        if member.until + rules.window <= now:
            member.requests = member.tokens = 0
            if member.slots_until <= now:
                del state.members[owner]


def _count(state: LimitsState, report: Report) -> None:
    for number, (requests, tokens) in report.usage.items():
        counted, used = state.usage.get(number, (0, 0))
        state.usage[number] = (counted + requests, max(used + tokens, 0))


def _space(state: LimitsState, requests: int, limits: ProviderLimits, rules: Rules) -> None:
    """Move the time of the next request by that many requests, which may be negative."""
    if limits.requests_per_minute is not None and requests:
        start = max(state.spaced, state.time) if requests > 0 else state.spaced
        state.spaced = start + requests * rules.window / limits.requests_per_minute


def _lowest(state: LimitsState, own: ProviderLimits, now: float) -> ProviderLimits:
    every = [member.limits for member in state.members.values() if member.slots_until > now]
    every.append(_as_tuple(own))
    requests, tokens, concurrency = zip(*every, strict=True)
    return ProviderLimits(_least(requests), _least(tokens), min(concurrency))


def _least(limits: Sequence[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _as_tuple(limits: ProviderLimits) -> tuple[int | None, int | None, int]:
    return limits.requests_per_minute, limits.tokens_per_minute, limits.concurrency


def fair_shares(amount: int, wants: Sequence[int]) -> list[int]:
    """Divide the amount: each gets what it wants, or as much as all others that want more.

    What cannot be divided equally goes to the first ones, and what nobody wants is left.
    """
    level = _level(max(amount, 0), wants)
    shares = [min(want, level) for want in wants]
    left = max(amount, 0) - sum(shares)
    for index, want in enumerate(wants):
        if left and want > level:
            shares[index] += 1
            left -= 1
    return shares


def _level(amount: int, wants: Sequence[int]) -> int:
    left, level = amount, 0
    for count, want in enumerate(sorted(wants)):
        level = left // (len(wants) - count)
        if want > level:
            return level
        left -= want
    return max(wants, default=level)
