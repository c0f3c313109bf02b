"""What the journal keeps, finds, sums up and gives back to the disk."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.llm.journal_fixtures import NAME, NOON, answer, clock, request
from turnetl.errors import BadUsage
from turnetl.llm.chat import ChatResponse
from turnetl.llm.journal import Journal, JournalTotals, PruneResult, request_key
from turnetl.model import Usage

KEY = request_key(NAME, request())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with closing(Journal(path, clock=clock)) as opened:
        yield opened


def keep(journal: Journal, number: int, said: str = "{}", prompt: str = "p", to: str = NAME) -> str:
    asked = request(f"number {number}", prompt)
    key = request_key(to, asked)
    journal.put(key, asked, to, answer(said))
    return key


def test_no_file_is_created_before_it_is_needed(path: Path) -> None:
    journal = Journal(path, clock=clock)
    assert journal.stats().total == JournalTotals()
    assert journal.prune(everything=True) == PruneResult(path, 0, 0, 0, dry_run=False)
    journal.close()
    assert not path.parent.exists()


def test_a_stored_response_is_returned_with_its_cost(journal: Journal) -> None:
    assert journal.get(KEY) is None
    journal.put(KEY, request(), NAME, answer('{"a": "ä"}'))
    assert journal.get(KEY) == replace(answer('{"a": "ä"}'), from_journal=True)


def test_a_stored_response_is_returned_in_the_next_run(journal: Journal, path: Path) -> None:
    journal.put(KEY, request(), NAME, answer())
    journal.close()
    with closing(Journal(path, clock=clock)) as again:
        assert again.get(KEY) == replace(answer(), from_journal=True)


def test_a_closed_journal_is_one_file(journal: Journal, path: Path) -> None:
    journal.put(KEY, request(), NAME, answer())
    journal.close()
    journal.close()
    assert [file.name for file in path.parent.iterdir()] == ["journal.sqlite"]


def test_the_first_response_stays(journal: Journal) -> None:
    journal.put(KEY, request(), NAME, answer('{"a": 1}'))
    journal.put(KEY, request(), NAME, answer('{"a": 2}'))
    found = journal.get(KEY)
    assert found is not None
    assert found.text == '{"a": 1}'


@pytest.mark.parametrize(
    "odd",
    [
        ChatResponse("\x00 \ud800 \U0001f600", 0, 0, truncated=False),
        ChatResponse("", 0, 0, truncated=False, cost=None),
        ChatResponse("{}", 1, 1, truncated=False, seconds=3, cost=1),
        ChatResponse("{}", -5, 2**60, truncated=False, cost=-0.0),
        ChatResponse("x" * 5_000_000, 1, 1, truncated=False),
    ],
)
def test_any_response_is_returned_unchanged(journal: Journal, odd: ChatResponse) -> None:
    journal.put(KEY, request(), NAME, odd)
    assert journal.get(KEY) == replace(odd, from_journal=True)


@pytest.mark.parametrize(
    "figures",
    [
        ChatResponse("{}", 10**30, -(10**30), truncated=False),
        ChatResponse("{}", 1, 1, truncated=False, seconds=float("nan"), cost=float("inf")),
    ],
)
def test_figures_out_of_range_lose_no_response(journal: Journal, figures: ChatResponse) -> None:
    journal.put(KEY, request(), NAME, figures)
    found = journal.get(KEY)
    assert found is not None
    assert found.text == "{}"
    assert abs(found.prompt_tokens) < 2**63
    assert found.seconds == 0


def test_the_request_itself_is_not_stored(journal: Journal, path: Path) -> None:
    secret = "what only the request says"
    asked = request(secret)
    journal.put(request_key(NAME, asked), asked, NAME, answer())
    journal.close()
    assert secret.encode() not in path.read_bytes()
    with closing(sqlite3.connect(path)) as seen:
        assert seen.execute("SELECT characters FROM responses").fetchone() == (38,)


def test_stats_have_the_cost_by_prompt_and_by_model(journal: Journal) -> None:
    keep(journal, 1, prompt="b")
    keep(journal, 2, prompt="a")
    keep(journal, 3, prompt="a", to="gemini/large")
    stats = journal.stats()
    one = JournalTotals(1, Usage(2, 100, 10, 0.25, 40, 1.5))
    assert list(stats.by_prompt.items()) == [("a", one + one), ("b", one)]
    assert list(stats.by_model.items()) == [("gemini/large", one), (NAME, one + one)]
    assert stats.total == JournalTotals(3, Usage(6, 300, 30, 0.75, 120, 4.5))
    assert stats.oldest == stats.newest == NOON


def test_stats_have_hits_and_saved_cost(journal: Journal, path: Path) -> None:
    key = keep(journal, 1)
    keep(journal, 2)
    for _ in range(3):
        journal.count_hit(key)
    assert journal.hits == 3
    journal.close()
    with closing(Journal(path, clock=clock)) as again:
        total = again.stats().total
    assert (total.hits, total.saved_cost) == (3, 0.75)


def test_a_sum_with_an_unknown_cost_is_unknown(journal: Journal) -> None:
    keep(journal, 1)
    journal.put(KEY, request(), NAME, answer(cost=None))
    total = journal.stats().total
    assert (total.usage.cost, total.usage.prompt_tokens, total.saved_cost) == (None, 200, 0)
    journal.count_hit(KEY)
    journal.close()
    with closing(Journal(journal.path, clock=clock)) as again:
        assert again.stats().total.saved_cost is None


def test_bytes_are_those_on_the_disk(journal: Journal, path: Path) -> None:
    keep(journal, 1, "x" * 100_000)
    assert journal.stats().bytes > 100_000
    journal.close()
    assert journal.stats().bytes == path.stat().st_size  # and looking writes nothing


def test_pruning_shrinks_the_file_by_the_reported_bytes(journal: Journal, path: Path) -> None:
    for number in range(20):
        keep(journal, number, "x" * 50_000)
    before = journal.stats().bytes
    pruned = journal.prune(everything=True)
    assert (pruned.entries, pruned.remaining) == (20, 0)
    assert pruned.bytes == before - path.stat().st_size
    assert path.stat().st_size < 50_000


def test_a_dry_run_removes_nothing_and_estimates_the_bytes(journal: Journal) -> None:
    for number in range(20):
        keep(journal, number, "x" * 20_000, to=NAME if number % 2 else "gemini/large")
    would = journal.prune(model=NAME, dry_run=True)
    assert (would.entries, would.remaining, would.dry_run) == (10, 10, True)
    assert journal.stats().total.entries == 20
    done = journal.prune(model=NAME)
    assert (done.entries, done.remaining) == (10, 10)
    assert 0.4 < would.bytes / done.bytes < 1.1


def test_responses_older_than_a_time_are_pruned_and_the_rest_stays(path: Path) -> None:
    times = [NOON, NOON + timedelta(days=1), NOON + timedelta(days=2)]
    now = iter(times)
    with closing(Journal(path, clock=lambda: next(now))) as journal:
        keys = [keep(journal, number) for number in range(3)]
        pruned = journal.prune(older_than=times[1])
        assert (pruned.entries, pruned.remaining) == (1, 2)
        assert journal.get(keys[0]) is None
        assert journal.get(keys[1]) is not None


@pytest.mark.parametrize("said", [NAME, "small"])
def test_a_model_matches_with_and_without_its_provider(journal: Journal, said: str) -> None:
    keep(journal, 1)
    keep(journal, 2, to="openai/smaller")
    assert journal.prune(model=said).entries == 1
    assert list(journal.stats().by_model) == ["openai/smaller"]


def test_age_and_model_must_both_match(journal: Journal) -> None:
    keep(journal, 1)
    later = NOON + timedelta(seconds=1)
    assert journal.prune(older_than=later, model="large").entries == 0
    assert journal.prune(older_than=NOON, model="small").entries == 0
    assert journal.prune(older_than=later, model="small").entries == 1


def test_pruning_without_a_condition_is_refused(journal: Journal) -> None:
    with pytest.raises(BadUsage, match="by age, by model, or all"):
        journal.prune()


def test_a_pruned_response_can_be_stored_again(journal: Journal) -> None:
    key = keep(journal, 1)
    journal.prune(everything=True)
    assert journal.get(key) is None
    keep(journal, 1)
    assert journal.get(key) is not None
