"""What the deployments need on Prefect's server, created if it does not exist."""

from dataclasses import dataclass
from typing import Any

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    VariableCreate,
    WorkPoolCreate,
)
from prefect.events import AutomationCore, EventTrigger, Posture
from prefect.events.actions import DoNothing, SendNotification
from prefect.exceptions import ObjectNotFound
from prefect.workers.process import ProcessWorker

from flows.events import BUDGET_STOPPED, PROVIDER_REFUSED, QUARANTINED
from flows.server import MODEL_LIMIT, server_client
from turnetl.base.errors import BadUsage
from turnetl.prefect_report import ServerObjectKind, SetupChange, SetupItem, SetupReport

QUEUES = {"rescue": 1, "nightly": 2, "shard": 3, "backfill": 4}
"""The queues of prefect.yaml with their priorities: runs of the first one start first. Shards go
before the runs that wait for them."""
LAKE_VARIABLE = "turnetl_lake"
AUTOMATION = "turnetl needs attention"
_SUBJECT = "{{ event.event }}"
_BODY = "{{ event.payload['flow'] }}: {{ event.payload['error'] }}"


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """What is created."""

    pool: str
    slots: int
    """Of the limit for the model."""
    lake: str
    """Absolute path, the value of a variable."""
    notify: str | None = None
    """A notification block, as `type/name`; None: the automation is created disabled."""

    async def execute(self) -> SetupReport:
        """Create what does not exist; change only the automation, and only for `notify`.

        Raises:
            BadUsage: no server is configured, or there is no such block.
        """
        async with server_client() as client:
            block = await self._block(client)
            items = [
                await self._pool(client),
                *[await self._queue(client, name, QUEUES[name]) for name in QUEUES],
                await self.create_limit(client),
                await self.create_variable(client),
                await self._automation(client, block),
            ]
        return SetupReport(self.pool, tuple(items))

    async def create_limit(self, client: PrefectClient) -> SetupItem:
        try:
            slots = (await client.read_global_concurrency_limit_by_name(MODEL_LIMIT)).limit
            change = SetupChange.KEPT
        except ObjectNotFound:
            limit = GlobalConcurrencyLimitCreate(name=MODEL_LIMIT, limit=self.slots)
            await client.create_global_concurrency_limit(limit)
            slots, change = self.slots, SetupChange.CREATED
        return SetupItem(ServerObjectKind.LIMIT, MODEL_LIMIT, change, f"{slots} slots")

    async def create_variable(self, client: PrefectClient) -> SetupItem:
        found = await client.read_variable_by_name(LAKE_VARIABLE)
        change = SetupChange.KEPT
        if found is None:
            found = await client.create_variable(
                VariableCreate(name=LAKE_VARIABLE, value=self.lake)
            )
            change = SetupChange.CREATED
        return SetupItem(ServerObjectKind.VARIABLE, LAKE_VARIABLE, change, str(found.value))

    async def _block(self, client: PrefectClient) -> Any:
        if self.notify is None:
            return None
        kind, slash, name = self.notify.partition("/")
        try:
            block = await client.read_block_document_by_name(name, kind)
        except ObjectNotFound:
            block = None
        if not slash or block is None:
            raise BadUsage(
                f"there is no block `{self.notify}` on Prefect's server: create a notification "
                "block, and name it as TYPE/NAME, for example slack-webhook/team"
            )
        return block.id

    async def _pool(self, client: PrefectClient) -> SetupItem:
        try:
            found, change = await client.read_work_pool(self.pool), SetupChange.KEPT
        except ObjectNotFound:
            template = ProcessWorker.get_default_base_job_template()
            pool = WorkPoolCreate(name=self.pool, type="process", base_job_template=template)
            found, change = await client.create_work_pool(pool), SetupChange.CREATED
        return SetupItem(ServerObjectKind.WORK_POOL, self.pool, change, found.type)

    async def _queue(self, client: PrefectClient, name: str, priority: int) -> SetupItem:
        try:
            found = await client.read_work_queue_by_name(name, self.pool)
            change = SetupChange.KEPT
        except ObjectNotFound:
            found = await client.create_work_queue(
                name, priority=priority, work_pool_name=self.pool
            )
            change = SetupChange.CREATED
        return SetupItem(ServerObjectKind.QUEUE, name, change, f"priority {found.priority}")

    async def _automation(self, client: PrefectClient, block: Any) -> SetupItem:
        existing = await client.read_automations_by_name(AUTOMATION)
        wanted = _automation(block)
        if not existing:
            await client.create_automation(wanted)
            change, enabled = SetupChange.CREATED, wanted.enabled
        elif block is not None and existing[0].actions != wanted.actions:
            await client.update_automation(existing[0].id, wanted)
            change, enabled = SetupChange.CHANGED, wanted.enabled
        else:
            change, enabled = SetupChange.KEPT, existing[0].enabled
        state = "enabled" if enabled else "disabled"
        return SetupItem(ServerObjectKind.AUTOMATION, AUTOMATION, change, state)


def _automation(block: Any) -> AutomationCore:
    """Return the automation; without a block it does nothing, and is disabled."""
    action = (
        DoNothing()
        if block is None
        else SendNotification(block_document_id=block, subject=_SUBJECT, body=_BODY)
    )
    return AutomationCore(
        name=AUTOMATION,
        description="A turn was quarantined, a budget is used up, or a provider refused.",
        enabled=block is not None,
        trigger=EventTrigger(
            expect={QUARANTINED, BUDGET_STOPPED, PROVIDER_REFUSED},
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[action],
    )
