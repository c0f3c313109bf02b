"""A project's archive that a canned model finds things and facts in, and that model's name."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.servers.provider import KEY, FakeProvider

SESSION_START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def write_session(path: Path, turns: int, *, session: str = "s1") -> Path:
    """Write a session of so many turns, all of them over; each names two things and a fact."""
    said = [
        f"Look again at the shop, please: `part{number}.py` uses `sqlite`."
        for number in range(turns)
    ]
    rows = [
        row
        for number, prompt in enumerate(said)
        for row in conversation(
            prompt, session=f"{session}-{number}", at=SESSION_START + timedelta(hours=number)
        )
    ]
    return write_archive(path, rows)


def model_environment(provider: FakeProvider, **more: str) -> dict[str, str]:
    """Return the environment that names the canned model, and what else is said of it."""
    return {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
        **{f"TURNETL_{name}": value for name, value in more.items()},
    }
