"""The rules of an exchange, in any order of exchanges, failures and ends of processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.llm.limiter import ProviderLimits
from turnetl.llm.shared_limits.allocation import Block, Grant, Report, Rules, exchange, fair_shares
from turnetl.llm.shared_limits.store import LimitsState, decode_state, encode_state

MINUTE = 60.0
RULES = Rules(window=61.5, burst=1.0, is_dead=lambda owner: owner.startswith("dead"))
"""Without spacing, so that the limit is reached quickly."""
REQUEST_SECONDS = 20.0
TOKENS = 30
"""Of an average request."""
LIMITS = ProviderLimits(7, 150, 3)


@dataclass(eq=False)
class Sent:
    """A request; it ends in time also if its process is killed."""

    begin: float
    end: float
    tokens: int


@dataclass
class Process:
    """A process that starts what it may, and what it has in flight."""

    owner: str
    block: Block
    in_flight: list[Sent] = field(default_factory=list)


@dataclass
class Machine:
    """Processes over one state, on one clock."""

    now: float = 1000.0
    content: bytes | None = None
    sent: list[Sent] = field(default_factory=list)
    processes: dict[str, Process] = field(default_factory=dict)
    generation: int = 0

    def process(self, name: str) -> Process:
        if name not in self.processes:
            self.generation += 1
            block = Block(lambda: self.now)
            self.processes[name] = Process(f"{name}{self.generation}", block)
        return self.processes[name]

    def exchange(
        self, process: Process, *, arrives: bool = True, returns: bool = True, leaves: bool = False
    ) -> Grant | None:
        """Exchange; the report or the response to it may get lost."""
        batch, usage = process.block.give_back()
        if not arrives:
            return None
        state = decode_state(self.content)
        report = Report(
            owner=process.owner,
            batch=batch,
            limits=LIMITS,
            usage=usage,
            in_flight=len(process.in_flight),
            slots=5,
            waiting=5,
            expected=2,
            head_tokens=TOKENS,
            mean_tokens=TOKENS,
            request_seconds=REQUEST_SECONDS,
            leaving=leaves and not process.in_flight,
        )
        now = max(state.time, self.now)
        grant = exchange(state, report, now, RULES)
        self.content = encode_state(state)
        if returns:
            process.block.replace(grant, self.now)
        return grant

    def start(self, process: Process, tokens: int) -> None:
        """Start all requests of this size that it may start."""
        while process.block.allows(tokens) and len(process.in_flight) < process.block.slots:
            process.block.take(tokens)
            sent = Sent(self.now, self.now + REQUEST_SECONDS, tokens)
            process.in_flight.append(sent)
            self.sent.append(sent)

    def finish(self, process: Process) -> None:
        if process.in_flight:
            process.in_flight.pop(0).end = self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; requests end in time."""
        self.now += seconds
        for process in self.processes.values():
            process.in_flight = [sent for sent in process.in_flight if sent.end > self.now]

    def most_started(self) -> tuple[int, int]:
        """Return the most requests, and the most tokens, of any minute."""
        minutes = [
            [sent.tokens for sent in self.sent if last.begin - MINUTE < sent.begin <= last.begin]
            for last in self.sent
        ]
        return max(map(len, minutes), default=0), max(map(sum, minutes), default=0)

    def most_in_flight(self) -> int:
        return max(
            (sum(one.begin <= at.begin < one.end for one in self.sent) for at in self.sent),
            default=0,
        )


ACTIONS = (
    *("exchange", "exchange", "start", "start", "start", "finish"),
    *("lost", "not sent", "killed", "leave"),
)
SECONDS = (0.001, 0.01, 0.1, 0.3, 0.3, 0.6, 1.0, 2.9, 8.0, 40.0)
STEPS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(ACTIONS),
        st.sampled_from(SECONDS),
        st.sampled_from((TOKENS // 3, TOKENS, 2 * TOKENS)),
    ),
    max_size=120,
)


@given(STEPS)
def test_no_limit_is_exceeded_whatever_happens(
    steps: Sequence[tuple[str, str, float, int]],
) -> None:
    machine = Machine()
    for name, action, seconds, tokens in steps:
        machine.advance(seconds)
        process = machine.process(name)
        match action:
            case "exchange" | "leave":
                machine.exchange(process, leaves=action == "leave")
            case "lost":
                machine.exchange(process, returns=False)
            case "not sent":
                machine.exchange(process, arrives=False)
            case "start":
                machine.start(process, tokens)
            case "finish":
                machine.finish(process)
            case "killed":
                # The provider may go on with its requests.
                del machine.processes[name]
    requests, started_tokens = machine.most_started()
    assert requests <= 7
    assert started_tokens <= 150
    assert machine.most_in_flight() <= 3


@given(st.integers(0, 50), st.lists(st.integers(0, 20), max_size=8))
def test_shares_are_fair_and_use_the_whole_amount(amount: int, wants: list[int]) -> None:
    shares = fair_shares(amount, wants)
    assert sum(shares) == min(amount, sum(wants))
    assert all(share <= want for share, want in zip(shares, wants, strict=True))
    unmet = [share for share, want in zip(shares, wants, strict=True) if share < want]
    assert all(share <= least + 1 for share in shares for least in unmet)


def test_what_cannot_be_divided_goes_to_the_first() -> None:
    assert fair_shares(1, [5, 5, 5]) == [1, 0, 0]
    assert fair_shares(8, [5, 1, 5]) == [4, 1, 3]


def report(owner: str, batch: int = 1, **values: object) -> Report:
    given_values = {
        "limits": LIMITS,
        "usage": {},
        "in_flight": 0,
        "slots": 3,
        "waiting": 3,
        "expected": 0,
        "head_tokens": 10,
        "mean_tokens": 10,
        "request_seconds": REQUEST_SECONDS,
    }
    return Report(owner=owner, batch=batch, **(given_values | values))  # type: ignore[arg-type]


def test_the_lowest_limits_hold_while_their_process_takes_part() -> None:
    state = LimitsState()
    high, low = ProviderLimits(100, None, 50), ProviderLimits(None, 1_000, 5)
    assert exchange(state, report("a", limits=high), 0.0, RULES).limits == high
    lowest = ProviderLimits(100, 1_000, 5)
    assert exchange(state, report("b", limits=low), 1.0, RULES).limits == lowest
    assert exchange(state, report("a", 2, limits=high), 1.1, RULES).limits == lowest
    exchange(state, report("b", 2, limits=low, leaving=True), 1.2, RULES)
    assert exchange(state, report("a", 3, limits=high), 1.3, RULES).limits == high


def test_a_process_that_joins_gets_no_slot_before_one_is_released() -> None:
    state = LimitsState()
    assert exchange(state, report("a"), 0.0, RULES).slots == 3
    assert exchange(state, report("b"), 0.1, RULES).slots == 0
    assert exchange(state, report("a", 2, in_flight=2), 0.2, RULES).slots == 2
    assert exchange(state, report("b", 2), 0.3, RULES).slots == 1


def test_one_slot_goes_from_one_process_to_the_other() -> None:
    state, limits = LimitsState(), ProviderLimits(None, None, 1)
    turns = set()
    for number in range(100):
        for owner in "ab":
            at = number * 0.5
            grant = exchange(state, report(owner, number, limits=limits), at, RULES)
            turns.update([owner] if grant.slots else [])
    assert turns == {"a", "b"}


def test_the_slots_of_a_process_that_ended_on_this_machine_are_free_at_once() -> None:
    state = LimitsState()
    exchange(state, report("dead", in_flight=3), 0.0, RULES)
    assert exchange(state, report("b"), 0.1, RULES).slots == 3


def test_the_slots_of_a_process_of_another_machine_are_free_when_its_requests_have_ended() -> None:
    state = LimitsState()
    grant = exchange(state, report("a", in_flight=3), 0.0, RULES)
    assert exchange(state, report("b"), grant.until + REQUEST_SECONDS, RULES).slots == 0
    assert exchange(state, report("b", 2), grant.until + REQUEST_SECONDS + 30, RULES).slots == 3


def test_a_large_request_that_waits_is_not_overtaken_for_ever() -> None:
    state, limits = LimitsState(), ProviderLimits(None, 100, 10)
    exchange(state, report("a", limits=limits, usage={0: (1, 60)}), 0.0, RULES)
    large = report("b", limits=limits, head_tokens=90, mean_tokens=90)
    assert exchange(state, large, 0.1, RULES).requests == 0
    assert exchange(state, report("a", 2, limits=limits), 0.2, RULES).requests == 0


@pytest.mark.parametrize("owner", ["a", "b"])
def test_a_request_above_the_token_limit_is_sent_alone(owner: str) -> None:
    state, limits = LimitsState(), ProviderLimits(None, 100, 10)
    exchange(state, report("a", limits=limits, usage={0: (1, 60)}, leaving=True), 0.0, RULES)
    large = report(owner, 2, limits=limits, head_tokens=500, mean_tokens=500)
    assert exchange(state, large, 10.0, RULES).requests == 0
    grant = exchange(state, large, 62.0, RULES)
    assert (grant.requests, grant.tokens) == (1, 500)


def test_usage_that_was_reported_twice_counts_once() -> None:
    state = LimitsState()
    exchange(state, report("a", usage={2000: (4, 40)}), 1000.0, RULES)
    exchange(state, report("a", usage={2000: (4, 40)}), 1000.5, RULES)
    assert state.usage == {2000: (4, 40)}
