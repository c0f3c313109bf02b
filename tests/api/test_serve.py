"""`turnetl.serve`: pages until the task is cancelled."""

import asyncio
from pathlib import Path

import httpx
import pytest

import turnetl
from turnetl.base.errors import BadUsage


async def test_the_address_is_handed_over_when_connections_are_accepted_and_a_cancel_ends_it(
    tmp_path: Path,
) -> None:
    addresses = asyncio.Queue[str]()
    settings = turnetl.Settings(lake=tmp_path / "lake")
    serving = asyncio.create_task(turnetl.serve(settings, on_ready=addresses.put_nowait, port=0))
    url = await addresses.get()
    async with httpx.AsyncClient(follow_redirects=True) as client:
        page = await client.get(url)
        assert "there is no graph at" in page.text
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_a_host_that_other_machines_may_reach_is_refused(tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path / "lake")
    with pytest.raises(BadUsage, match="other machines may reach"):
        await turnetl.serve(settings, on_ready=print, host="0.0.0.0")  # noqa: S104 - refused
