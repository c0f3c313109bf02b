"""The runs of the shards of a backfill: started, waited for, and cancelled with their parent."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from prefect import State, get_run_logger
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed

from flows.artifacts import publish_shards
from flows.backfill_run import BackfillParameters
from flows.run_flow import BUDGET_STOPPED, budget_stopped, failed
from flows.run_settings import check_shared_graph
from turnetl.base.errors import BadUsage
from turnetl.base.shard import Shard
from turnetl.settings import Settings

DEPLOYMENT = "shard/shard"
"""Of the children: it has a queue of its own, so that no child waits for the slot of its parent."""
_INTERVAL = 5.0
"""Seconds between two looks at the children."""
_MICRO = 1_000_000
_LATE = 60.0
"""Seconds after which a child that no worker took is worth a warning."""


@dataclass(frozen=True, slots=True)
class ShardRuns:
    """The children of a run."""

    parameters: BackfillParameters
    """Of all children; the budget is that of all together."""
    count: int

    async def run(self) -> State[None]:
        """Start all shards, wait until all have ended, and return the state that follows.

        Raises:
            BadUsage: the graph is an embedded one, or the deployment of the children is missing.
        """
        settings = await self.parameters.settings()
        check_shared_graph(settings, "shards", "the deployment `backfill/backfill`")
        async with get_client() as client:
            started = await self._start(client, settings)
            try:
                ended = await _all_ended(client, started)
            except BaseException:
                await _cancel(client, started)
                raise
        await publish_shards(list(ended.values()))
        return state_of(ended)

    async def _start(self, client: PrefectClient, settings: Settings) -> Mapping[Shard, FlowRun]:
        """Start the children one by one, and cancel them if one cannot be started."""
        runs: dict[Shard, FlowRun] = {}
        given = {
            name: value for name, value in asdict(self.parameters).items() if value is not None
        }
        given |= divided_budget(settings, self.count)
        try:
            for number in range(1, self.count + 1):
                one = Shard(number, self.count)
                runs[one] = await arun_deployment(
                    DEPLOYMENT, client=client, parameters={**given, "shard": str(one)}, timeout=0
                )
        except ObjectNotFound as error:
            raise BadUsage(
                f"there is no deployment `{DEPLOYMENT}` on Prefect's server: run "
                "`prefect --no-prompt deploy --all` again"
            ) from error
        except BaseException:
            await _cancel(client, runs)
            raise
        return runs


def divided_budget(settings: Settings, parts: int) -> dict[str, list[str]]:
    """Return the parameter that gives a shard its part of the budget; nothing without a budget."""
    budget = settings.budget
    amounts = []
    if budget.usd is not None:
        micro = max(math.floor(budget.usd * _MICRO / parts), 1)
        amounts.append(f"{micro / _MICRO:.6f}usd")
    if budget.tokens is not None:
        amounts.append(f"{max(budget.tokens // parts, 1)} tokens")
    return {"budget": amounts} if amounts else {}


def state_of(ended: Mapping[Shard, FlowRun]) -> State[None]:
    """Return the state of a run whose shards have ended so: the worst of theirs."""
    states = {one: run.state for one, run in ended.items() if run.state is not None}
    failures = [
        f"shard {one} {state.name}: {state.message or 'no reason given'}"
        for one, state in states.items()
        if state.type != StateType.COMPLETED
    ]
    if failures:
        return failed(failures)
    for one, state in states.items():
        if state.name == BUDGET_STOPPED:
            return budget_stopped(f"shard {one}: {state.message}")
    return Completed(message=f"all {len(states)} shards completed")


async def _all_ended(
    client: PrefectClient, started: Mapping[Shard, FlowRun]
) -> Mapping[Shard, FlowRun]:
    """Wait for all children; the log says when each ended, and if no worker takes one."""
    ended: dict[Shard, FlowRun] = {}
    waited = 0.0
    while len(ended) < len(started):
        await asyncio.sleep(_INTERVAL)
        waited += _INTERVAL
        for one, run in started.items():
            if one in ended:
                continue
            now = await client.read_flow_run(run.id)
            if now.state is not None and now.state.is_final():
                ended[one] = now
                get_run_logger().info("shard %s: %s", one, now.state.name)
            elif waited == _LATE and now.start_time is None:
                get_run_logger().warning(
                    "no worker has taken shard %s: start one with `prefect worker start --pool "
                    "%s --work-queue %s`",
                    one,
                    now.work_pool_name,
                    now.work_queue_name,
                )
    return {one: ended[one] for one in started}


async def _cancel(client: PrefectClient, started: Mapping[Shard, FlowRun]) -> None:
    """Cancel the children that have not ended: nobody waits for them any more."""
    for run in started.values():
        state = (await client.read_flow_run(run.id)).state
        if state is None or not state.is_final():
            await client.set_flow_run_state(run.id, _cancelling(state))


def _cancelling(state: State[Any] | None) -> State[Any]:
    """Return the next state of a child: one that no worker took yet is cancelled immediately."""
    is_waiting = state is None or state.is_scheduled()
    kind = StateType.CANCELLED if is_waiting else StateType.CANCELLING
    return State(type=kind, message="its parent was cancelled or failed")
