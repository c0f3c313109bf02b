"""Tasks whose process cannot say any more how they ended."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from prefect import State
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed


async def crash_tasks(tasks: Sequence[UUID], message: str) -> None:
    """Set tasks to Crashed that have begun and not ended: else they would count as running."""
    state: State[Any] = Crashed(message=message)
    async with get_client() as client:
        for task in tasks:
            # No process has begun it.
            with suppress(ObjectNotFound):
                found = (await client.read_task_run(task)).state
                if found is None or not found.is_final():
                    await client.set_task_run_state(task, state, force=True)
