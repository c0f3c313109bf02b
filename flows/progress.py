"""The progress of each group as an artifact."""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self
from uuid import UUID

import httpx
from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

from turnetl.base.progress import ProgressUpdate
from turnetl.base.text import format_cost

log = logging.getLogger(__name__)

_INTERVAL = 1.0
"""Seconds between two updates of an artifact."""
_NO_KEY = re.compile(r"[^a-z0-9]+")
_DIGITS = 8
_INGEST = "ingest"


class ProgressArtifacts:
    """Publishes the last update of each group, and of each earlier stage, once a second."""

    def __init__(self, interval: float = _INTERVAL) -> None:
        self._interval = interval
        self._latest: dict[str, ProgressUpdate] = {}
        self._published: dict[str, ProgressUpdate] = {}
        self._artifacts: dict[str, UUID] = {}

    def __call__(self, update: ProgressUpdate) -> None:
        """Keep an update until the next publication; may be called from any thread."""
        self._latest[_name(update)] = update

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[Self]:
        """Publish what is kept, and the last updates in the end."""
        task = asyncio.create_task(self._publish_repeatedly())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self._publish()

    async def _publish_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self._publish()

    async def _publish(self) -> None:
        for name, update in list(self._latest.items()):
            if self._published.get(name) == update:
                continue
            try:
                await self._publish_one(name, update)
            except httpx.HTTPError as error:
                # What Prefect shows is no reason to stop an ingest.
                log.info("progress was not published: %s", error)

    async def _publish_one(self, name: str, update: ProgressUpdate) -> None:
        percent = 100 * update.done / update.total if update.total else 100.0
        text = _description(update)
        if (artifact := self._artifacts.get(name)) is None:
            created = await acreate_progress_artifact(percent, artifact_key(name), text)
            self._artifacts[name] = created
        else:
            await aupdate_progress_artifact(artifact, percent, text)
        self._published[name] = update


def artifact_key(name: str) -> str:
    """Return the key of the artifact of a group or stage: lowercase letters, digits and dashes.

    A name that has others gets a digest, so that two groups never share a key.
    """
    plain = _NO_KEY.sub("-", name.lower()).strip("-")
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"progress-{plain}" if plain == name else f"progress-{plain}-{digest}".replace("--", "-")


def _name(update: ProgressUpdate) -> str:
    return update.name if update.stage == _INGEST else update.stage


def _description(update: ProgressUpdate) -> str:
    unit = "turns" if update.stage == _INGEST else update.name
    of_group = f" {update.name}" if update.stage == _INGEST else ""
    cost = update.cost.usd if update.cost is not None and update.cost.tokens else None
    spent = "" if cost is None else f"; {format_cost(cost)} in this run"
    return f"{update.stage}{of_group}: {update.done:,} of {update.total:,} {unit}{spent}"
