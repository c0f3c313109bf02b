"""The automation of `turnetl prefect setup` tells a webhook what needs a person."""

import asyncio
import json
from pathlib import Path

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock

from flows.backfill import backfill
from flows.server_setup import ServerSetup
from tests.cli.provider_setup import model_environment, write_session
from tests.prefect.http_listener import listening
from tests.servers.provider import KEY, FakeProvider

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

POOL = "pool-of-the-notifications"


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_a_used_up_budget_reaches_the_webhook_with_its_flow_and_reason(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in model_environment(provider).items():
        monkeypatch.setenv(name, value)
    archive = write_session(tmp_path / "a.jsonl", 1)
    message = {"title": "{{subject}}", "text": "{{body}}"}
    with listening() as webhook:
        block = CustomWebhookNotificationBlock(
            name="team", url=webhook.url, json_data=message, headers=None, cookies=None
        )
        await block.save("team-webhook", overwrite=True)
        await ServerSetup(POOL, 3, "/lake", notify="custom-webhook/team-webhook").execute()
        state = await backfill(
            [str(archive)], lake=str(tmp_path / "lake"), budget=["1 token"], return_state=True
        )
        assert state.name == "BudgetStopped"
        sent = await asyncio.to_thread(webhook.bodies.get, timeout=60)
    assert KEY not in sent
    notification = json.loads(sent)
    assert notification["title"] == "turnetl.budget.stopped"
    assert notification["text"].startswith("backfill: ")
    assert "budget is too small" in notification["text"]
