"""An archive from which the canned model extracts entities, and the settings of the model."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.servers.provider import KEY, FakeProvider

SESSION_START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def write_session(path: Path, turns: int, *, session: str = "s1") -> Path:
    """Write a session of finished turns; each yields two entities and a fact."""
    prompts = [
        f"Look again at the shop, please: `part{number}.py` uses `sqlite`."
        for number in range(turns)
    ]
    rows = [
        row
        for number, prompt in enumerate(prompts)
        for row in conversation(
            prompt, session=f"{session}-{number}", at=SESSION_START + timedelta(hours=number)
        )
    ]
    return write_archive(path, rows)


def model_environment(provider: FakeProvider, **settings: str) -> dict[str, str]:
    """Return the environment that selects the canned model, and more settings."""
    return {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
        **{f"TURNETL_{name}": value for name, value in settings.items()},
    }
