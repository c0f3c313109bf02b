"""Prices of the library: offline, by the time of the run, with tiers, cached tokens and bounds."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import genai_prices
import pytest
from genai_prices import data_snapshot
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.test_price_files import NOW, prices
from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatMessage, ChatRequest
from turnetl.llm.costs import worst_case
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, PriceTier, find_price
from turnetl.settings import Settings
from turnetl.wiring.clients import model_stack

MILLION = 1_000_000
LIBRARY_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
MODELS = (
    "openai/gpt-4.1-mini",
    "openai/gpt-5.5",
    "openai/gpt-6-luna",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-5",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-2.5-pro",
)


def price_of(model: str, at: datetime = NOW) -> Price:
    price = find_price(model, at)
    assert price is not None
    return price


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("openai/gpt-4.1-mini", (0.40, 0.10, 1.60)),
        ("openai/gpt-4.1-mini-2025-04-14", (0.40, 0.10, 1.60)),
        ("anthropic/claude-haiku-4-5-20251001", (1.00, 0.10, 5.00)),
        ("gemini/gemini-2.5-flash", (0.30, 0.03, 2.50)),
        ("gemini/models/gemini-2.5-flash-lite", (0.10, 0.01, 0.40)),
        ("openai-compatible/text-embedding-3-small", (0.02, 0.02, 0.0)),
    ],
)
def test_models_of_every_provider_have_a_price(
    model: str, dollars: tuple[float, float, float]
) -> None:
    price = price_of(model)
    assert (price.input, price.cached_input, price.output) == dollars


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4.1-nonesuch",
        "openai/",
        "openai-compatible/gpt-4.1-mini",
        "canned/canned",
        "gpt-4.1-mini",
        "openai/whisper-1",
    ],
)
def test_a_model_that_the_library_does_not_know_has_no_price_and_a_budget_in_dollars_rejects(
    model: str,
) -> None:
    known = prices()
    assert known.find(model) is None
    budget = Budget(None, 1.0, Meter(known), known)
    with pytest.raises(BadUsage, match="a budget in dollars needs prices"):
        budget.price(model)


def test_a_price_applies_from_its_date_on() -> None:
    before = price_of("openai/o3", datetime(2025, 6, 9, tzinfo=UTC))
    after = price_of("openai/o3", datetime(2025, 6, 10, tzinfo=UTC))
    assert (before.input, before.output) == (10.0, 40.0)
    assert (after.input, after.output) == (2.0, 8.0)


def test_cached_tokens_and_cache_writes_have_prices_of_their_own() -> None:
    price = price_of("anthropic/claude-opus-5")
    usage = Usage(prompt_tokens=MILLION, cached_tokens=200_000)
    assert price.cost(usage, cache_write_tokens=300_000) == pytest.approx(
        0.5 * 5.00 + 0.2 * 0.50 + 0.3 * 6.25
    )


def test_a_long_prompt_costs_the_price_of_its_tier_for_all_its_tokens() -> None:
    price = price_of("anthropic/claude-sonnet-4-5")
    at_threshold = price.cost(Usage(prompt_tokens=200_000, completion_tokens=1_000))
    above = price.cost(Usage(prompt_tokens=200_001, completion_tokens=1_000))
    assert at_threshold == pytest.approx(0.2 * 3.00 + 0.001 * 15.00)
    assert above == pytest.approx(0.200001 * 6.00 + 0.001 * 22.50)


TOKENS = st.integers(0, 600_000)


@given(st.sampled_from(MODELS), TOKENS, TOKENS, TOKENS, TOKENS)
def test_a_cost_is_what_the_library_computes(
    model: str, plain: int, cached: int, written: int, completion: int
) -> None:
    provider, _, name = model.partition("/")
    prompt = plain + cached + written
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=prompt,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            output_tokens=completion,
        ),
        name,
        provider_id=LIBRARY_PROVIDERS[provider],
        genai_request_timestamp=NOW,
    )
    ours = price_of(model).cost(Usage(1, prompt, completion, cached_tokens=cached), written)
    assert ours == pytest.approx(float(theirs.total_price), rel=1e-9, abs=1e-12)


DOLLARS = st.floats(0, 100)
PRICES = st.builds(Price, DOLLARS, DOLLARS, DOLLARS, st.none() | DOLLARS)
TIERED_PRICES = st.builds(
    lambda base, tiers: Price(
        base.input,
        base.cached_input,
        base.output,
        base.cache_write,
        tuple(PriceTier(above, price) for above, price in sorted(tiers.items())),
    ),
    PRICES,
    st.dictionaries(st.integers(0, 10_000), PRICES, max_size=3),
)
REQUESTS = st.lists(st.tuples(*(st.integers(0, 4_000) for _ in range(4))), min_size=1, max_size=4)


@given(TIERED_PRICES, REQUESTS)
def test_no_split_of_tokens_into_requests_costs_more_than_the_bound(
    price: Price, requests: list[tuple[int, int, int, int]]
) -> None:
    """Whatever the tiers are: a tier may also be cheaper than the one below it."""
    total, cost = Usage(), 0.0
    for plain, cached, written, completion in requests:
        usage = Usage(1, plain + cached + written, completion, cached_tokens=cached)
        total += usage
        cost += price.cost(usage, cache_write_tokens=written)
    assert cost <= price.max_cost(total) * (1 + 1e-9)


def test_the_worst_case_of_a_long_request_is_reserved_at_the_price_of_its_tier() -> None:
    price = Price(1, 1, 1, tiers=(PriceTier(100_000, Price(3, 3, 5)),))
    request = ChatRequest("p", (ChatMessage("user", "x" * 101_000),), None, 1_000)
    bound = worst_case(request, price).amount
    assert bound.usd == pytest.approx(((bound.tokens - 1_000) * 3 + 1_000 * 5) / MILLION)


@pytest.mark.full
def test_the_library_is_not_imported_before_a_price_is_needed() -> None:
    program = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from turnetl.llm.prices import load_prices\n"
        "prices = load_prices(None, Path(), at=datetime(2026, 1, 1, tzinfo=UTC))\n"
        "assert 'genai_prices' not in sys.modules\n"
        "assert prices.find('openai/gpt-4.1')\n"
        "assert 'genai_prices' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.full
def test_a_lookup_opens_no_socket_and_starts_no_thread() -> None:
    program = (
        "import sys, threading\n"
        "from datetime import UTC, datetime\n"
        "events = []\n"
        "sys.addaudithook(lambda name, _: name.startswith('socket.') and events.append(name))\n"
        "from turnetl.llm.prices import find_price\n"
        "now = datetime(2030, 1, 1, tzinfo=UTC)\n"
        "for model in ('openai/gpt-4.1', 'anthropic/claude-opus-5', 'gemini/none'):\n"
        "    find_price(model, now)\n"
        "used = [name for name in events if name != 'socket.__new__']\n"
        "assert not used, used\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_librarys_data_are_those_of_its_release() -> None:
    find_price("openai/gpt-4.1", NOW)
    assert not data_snapshot.get_snapshot().from_auto_update


@pytest.mark.parametrize(("year", "dollars"), [(2025, 10.0), (2026, 2.0)])
async def test_a_run_takes_the_prices_of_its_own_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, year: int, dollars: float
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    llm = {"provider": "openai", "model": "o3", "api_key": "k"}
    settings = Settings.model_validate({"llm": llm, "lake": tmp_path, "journal": False})
    async with model_stack(settings, lambda: datetime(year, 1, 1, tzinfo=UTC)) as stack:
        assert stack.meter is not None
        price = stack.meter.prices.find("openai/o3")
    assert price is not None
    assert price.input == dollars
