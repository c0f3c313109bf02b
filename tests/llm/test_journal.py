"""The journal: storage, lookup, statistics and pruning."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.llm.journal_fixtures import NAME, NOON, chat_request, chat_response, clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage
from turnetl.llm.chat import ChatResponse
from turnetl.llm.journal import Journal, JournalTotals, PruneResult, request_key

KEY = request_key(NAME, chat_request())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with closing(Journal(path, clock=clock)) as opened:
        yield opened


def put(
    journal: Journal, number: int, text: str = "{}", prompt_name: str = "p", model_name: str = NAME
) -> str:
    request = chat_request(f"number {number}", prompt_name)
    key = request_key(model_name, request)
    journal.put(key, request, model_name, chat_response(text))
    return key


def test_no_file_is_created_before_it_is_needed(path: Path) -> None:
    journal = Journal(path, clock=clock)
    assert journal.stats().total == JournalTotals()
    assert journal.prune(everything=True) == PruneResult(path, 0, 0, 0, dry_run=False)
    journal.close()
    assert not path.parent.exists()


def test_a_stored_response_is_returned_with_its_cost(journal: Journal) -> None:
    assert journal.get(KEY) is None
    journal.put(KEY, chat_request(), NAME, chat_response('{"a": "ä"}'))
    assert journal.get(KEY) == chat_response('{"a": "ä"}')


def test_a_stored_response_is_returned_in_the_next_run(journal: Journal, path: Path) -> None:
    journal.put(KEY, chat_request(), NAME, chat_response())
    journal.close()
    with closing(Journal(path, clock=clock)) as again:
        assert again.get(KEY) == chat_response()


def test_a_closed_journal_is_one_file(journal: Journal, path: Path) -> None:
    journal.put(KEY, chat_request(), NAME, chat_response())
    journal.close()
    journal.close()
    assert [file.name for file in path.parent.iterdir()] == ["journal.sqlite"]


def test_the_first_response_stays(journal: Journal) -> None:
    journal.put(KEY, chat_request(), NAME, chat_response('{"a": 1}'))
    journal.put(KEY, chat_request(), NAME, chat_response('{"a": 2}'))
    stored = journal.get(KEY)
    assert stored is not None
    assert stored.text == '{"a": 1}'


@pytest.mark.parametrize(
    "unusual",
    [
        ChatResponse("\x00 \ud800 \U0001f600", 0, 0, truncated=False),
        ChatResponse("", 0, 0, truncated=False, cost=None),
        ChatResponse("{}", 1, 1, truncated=False, seconds=3, cost=1),
        ChatResponse("{}", -5, 2**60, truncated=False, cost=-0.0),
        ChatResponse("x" * 5_000_000, 1, 1, truncated=False),
    ],
)
def test_any_response_is_returned_unchanged(journal: Journal, unusual: ChatResponse) -> None:
    journal.put(KEY, chat_request(), NAME, unusual)
    assert journal.get(KEY) == unusual


@pytest.mark.parametrize(
    "response",
    [
        ChatResponse("{}", 10**30, -(10**30), truncated=False),
        ChatResponse("{}", 1, 1, truncated=False, seconds=float("nan"), cost=float("inf")),
    ],
)
def test_figures_out_of_range_lose_no_response(journal: Journal, response: ChatResponse) -> None:
    journal.put(KEY, chat_request(), NAME, response)
    stored = journal.get(KEY)
    assert stored is not None
    assert stored.text == "{}"
    assert abs(stored.prompt_tokens) < 2**63
    assert stored.seconds == 0


def test_the_request_itself_is_not_stored(journal: Journal, path: Path) -> None:
    secret = "what only the request says"
    request = chat_request(secret)
    journal.put(request_key(NAME, request), request, NAME, chat_response())
    journal.close()
    assert secret.encode() not in path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT characters FROM responses").fetchone() == (38,)


def test_stats_have_the_cost_by_prompt_and_by_model(journal: Journal) -> None:
    put(journal, 1, prompt_name="b")
    put(journal, 2, prompt_name="a")
    put(journal, 3, prompt_name="a", model_name="gemini/large")
    stats = journal.stats()
    single = JournalTotals(1, Usage(2, 100, 10, 0.25, 40, 1.5))
    assert list(stats.by_prompt.items()) == [("a", single + single), ("b", single)]
    assert list(stats.by_model.items()) == [("gemini/large", single), (NAME, single + single)]
    assert stats.total == JournalTotals(3, Usage(6, 300, 30, 0.75, 120, 4.5))
    assert stats.oldest == stats.newest == NOON


def test_stats_have_hits_and_saved_cost(journal: Journal, path: Path) -> None:
    key = put(journal, 1)
    put(journal, 2)
    for _ in range(3):
        journal.count_hit(key)
    assert journal.hits == 3
    journal.close()
    with closing(Journal(path, clock=clock)) as again:
        total = again.stats().total
    assert (total.hits, total.saved_cost) == (3, 0.75)


def test_a_sum_with_an_unknown_cost_is_unknown(journal: Journal) -> None:
    put(journal, 1)
    journal.put(KEY, chat_request(), NAME, chat_response(cost=None))
    total = journal.stats().total
    assert (total.usage.cost, total.usage.prompt_tokens, total.saved_cost) == (None, 200, 0)
    journal.count_hit(KEY)
    journal.close()
    with closing(Journal(journal.path, clock=clock)) as again:
        assert again.stats().total.saved_cost is None


def test_bytes_are_those_on_the_disk(journal: Journal, path: Path) -> None:
    put(journal, 1, "x" * 100_000)
    assert journal.stats().bytes > 100_000
    journal.close()
    assert journal.stats().bytes == path.stat().st_size  # statistics write nothing


def test_pruning_shrinks_the_file_by_the_reported_bytes(journal: Journal, path: Path) -> None:
    for number in range(20):
        put(journal, number, "x" * 50_000)
    before = journal.stats().bytes
    pruned = journal.prune(everything=True)
    assert (pruned.entries, pruned.remaining) == (20, 0)
    assert pruned.bytes == before - path.stat().st_size
    assert path.stat().st_size < 50_000


def test_a_dry_run_removes_nothing_and_estimates_the_bytes(journal: Journal) -> None:
    for number in range(20):
        put(journal, number, "x" * 20_000, model_name=NAME if number % 2 else "gemini/large")
    estimate = journal.prune(model=NAME, dry_run=True)
    assert (estimate.entries, estimate.remaining, estimate.dry_run) == (10, 10, True)
    assert journal.stats().total.entries == 20
    pruned = journal.prune(model=NAME)
    assert (pruned.entries, pruned.remaining) == (10, 10)
    assert 0.4 < estimate.bytes / pruned.bytes < 1.1


def test_responses_older_than_a_time_are_pruned_and_the_rest_stays(path: Path) -> None:
    times = [NOON, NOON + timedelta(days=1), NOON + timedelta(days=2)]
    now = iter(times)
    with closing(Journal(path, clock=lambda: next(now))) as journal:
        keys = [put(journal, number) for number in range(3)]
        pruned = journal.prune(older_than=times[1])
        assert (pruned.entries, pruned.remaining) == (1, 2)
        assert journal.get(keys[0]) is None
        assert journal.get(keys[1]) is not None


@pytest.mark.parametrize("text", [NAME, "small"])
def test_a_model_matches_with_and_without_its_provider(journal: Journal, text: str) -> None:
    put(journal, 1)
    put(journal, 2, model_name="openai/smaller")
    assert journal.prune(model=text).entries == 1
    assert list(journal.stats().by_model) == ["openai/smaller"]


def test_age_and_model_must_both_match(journal: Journal) -> None:
    put(journal, 1)
    later = NOON + timedelta(seconds=1)
    assert journal.prune(older_than=later, model="large").entries == 0
    assert journal.prune(older_than=NOON, model="small").entries == 0
    assert journal.prune(older_than=later, model="small").entries == 1


def test_pruning_without_a_condition_is_rejected(journal: Journal) -> None:
    with pytest.raises(BadUsage, match="by age, by model, or all"):
        journal.prune()


def test_a_pruned_response_can_be_stored_again(journal: Journal) -> None:
    key = put(journal, 1)
    journal.prune(everything=True)
    assert journal.get(key) is None
    put(journal, 1)
    assert journal.get(key) is not None
