"""What is wrong on Prefect's server, and what it lacks, found before a run fails for it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType, WorkerStatus
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventOccurredFilter
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed

from flows.run_flow import VERSION
from flows.server import FLOW_NAMES, MODEL_LIMIT, server_client
from flows.server_setup import LAKE_VARIABLE, ServerSetup
from flows.shard_runs import DEPLOYMENT as SHARD
from turnetl.base.clock import Clock
from turnetl.base.text import plural
from turnetl.prefect_report import DoctorFinding, DoctorReport, FindingKind

_OF_TURNETL = FlowFilter(name=FlowFilterName(any_=list(FLOW_NAMES)))
_HOLDING = (StateType.PENDING, StateType.RUNNING, StateType.CANCELLING)
"""States in which a run may hold slots."""
_MOST = 200
"""Runs, deployments and limits that one request returns."""


async def check_server(
    clock: Clock, *, silent_minutes: float, fix: ServerSetup | None = None
) -> DoctorReport:
    """Check the runs, limits, deployments and workers of turnetl's flows.

    Args:
        silent_minutes: a running run without an event for so long is dead. Every run sends a
            heartbeat every three minutes.
        fix: set dead runs to Crashed, give back the slots that no run holds, and create what this
            set-up makes if a deployment names it and it is missing; None: change nothing.
    """
    async with server_client() as client:
        check = _Check(client, clock() - timedelta(minutes=silent_minutes), fix=fix is not None)
        running = await _runs(client, _HOLDING)
        zombies = [run for run in running if await check.is_zombie(run)]
        deployments = await client.read_deployments(flow_filter=_OF_TURNETL, limit=_MOST)
        dead = {run.id for run in zombies}
        alive = [run for run in running if run.id not in dead]
        findings = [
            *[await check.zombie(run) for run in zombies],
            *await check.leaked_slots(alive, deployments),
            *[one for each in deployments for one in await check.versions(each)],
            *await check_needs(client, deployments, fix),
            *await check.workers(deployments),
        ]
    return DoctorReport(VERSION, len(running), len(deployments), tuple(findings))


@dataclass(frozen=True, slots=True)
class _Check:
    client: PrefectClient
    silent_since: datetime
    fix: bool

    async def is_zombie(self, run: FlowRun) -> bool:
        """Return whether a run counts as running and has sent no event for long."""
        begun = run.start_time or run.created
        if run.state_type is StateType.PENDING or begun is None or begun > self.silent_since:
            return False
        events = await self.client.read_events(
            EventFilter(
                occurred=EventOccurredFilter.model_validate({"since": self.silent_since}),
                any_resource=EventAnyResourceFilter(id=[f"prefect.flow-run.{run.id}"]),
            ),
            limit=1,
        )
        return not events.events

    async def zombie(self, run: FlowRun) -> DoctorFinding:
        finding = DoctorFinding(
            FindingKind.ZOMBIE_RUN,
            run.name,
            f"{str(run.state_type).lower()} since {run.start_time:%Y-%m-%d %H:%M} UTC, and without "
            "a sign of life",
            "--fix sets it to Crashed; its turns are in the graph or will be ingested by the next",
            can_fix=True,
        )
        if not self.fix:
            return finding
        state: State[Any] = Crashed(message="No sign of life; set by `turnetl prefect doctor`.")
        await self.client.set_flow_run_state(run.id, state, force=True)
        return replace(finding, fixed=True)

    async def leaked_slots(
        self, alive: Sequence[FlowRun], deployments: Sequence[DeploymentResponse]
    ) -> list[DoctorFinding]:
        """Return the limits of the deployments and of the model with slots that no run holds."""
        of_deployment = Counter(run.deployment_id for run in alive)
        held: dict[str, int | None] = {
            f"deployment:{one.id}": of_deployment[one.id] for one in deployments
        }
        users = {name for run in alive if (name := run.parameters.get("model_slots"))}
        named = {name for one in deployments if (name := one.parameters.get("model_slots"))}
        # How many slots a run holds is a setting of its worker.
        held |= {name: None if name in users else 0 for name in {MODEL_LIMIT, *named, *users}}
        names = {f"deployment:{one.id}": one.name for one in deployments}
        found = list[DoctorFinding]()
        for limit in await self.client.read_global_concurrency_limits(limit=_MOST):
            expected = held.get(limit.name)
            if expected is not None and limit.active_slots > expected:
                subject = names.get(limit.name, limit.name)
                leaked = int(limit.active_slots) - expected
                found.append(await self._leaked(limit.name, subject, leaked, expected))
        return found

    async def _leaked(self, name: str, subject: str, leaked: int, held: int) -> DoctorFinding:
        finding = DoctorFinding(
            FindingKind.LEAKED_SLOTS,
            subject,
            f"{plural(leaked, 'slot')} that no run holds",
            "--fix gives them back",
            can_fix=True,
        )
        if not self.fix:
            return finding
        update = GlobalConcurrencyLimitUpdate(active_slots=held)
        await self.client.update_global_concurrency_limit(name, update)
        return replace(finding, fixed=True)

    async def versions(self, deployment: DeploymentResponse) -> list[DoctorFinding]:
        """Return where the versions of turnetl here, of the deployment and of its worker differ."""
        found, deployed = list[DoctorFinding](), deployment.version
        if deployed != VERSION:
            found.append(
                DoctorFinding(
                    FindingKind.DEPLOYMENT_VERSION,
                    deployment.name,
                    f"deployed with turnetl {deployed}, and this is turnetl {VERSION}",
                    "deploy again: `prefect --no-prompt deploy --all`",
                )
            )
        last = await _last_run(self.client, deployment.id)
        if last is not None and last.flow_version not in (None, deployed):
            found.append(
                DoctorFinding(
                    FindingKind.WORKER_VERSION,
                    deployment.name,
                    f"its last run had turnetl {last.flow_version}, and the deployment {deployed}",
                    "install the same version of turnetl where the worker runs, and restart it",
                )
            )
        return found

    async def workers(self, deployments: Sequence[DeploymentResponse]) -> list[DoctorFinding]:
        pools = sorted({one.work_pool_name for one in deployments if one.work_pool_name})
        found = list[DoctorFinding]()
        for pool in pools:
            workers = await self.client.read_workers_for_work_pool(pool)
            if not any(worker.status is WorkerStatus.ONLINE for worker in workers):
                message, remedy = "no worker is online", f"`prefect worker start --pool {pool}`"
                found.append(DoctorFinding(FindingKind.NO_WORKER, pool, message, remedy))
        return found


async def _runs(client: PrefectClient, states: Sequence[StateType]) -> list[FlowRun]:
    types = FlowRunFilterStateType(any_=list(states))
    return await client.read_flow_runs(
        flow_filter=_OF_TURNETL,
        flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=types)),
        limit=_MOST,
    )


async def _last_run(client: PrefectClient, deployment: UUID) -> FlowRun | None:
    ended = FlowRunFilterStateType(any_=[StateType.COMPLETED, StateType.FAILED])
    runs = await client.read_flow_runs(
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment])),
        flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=ended)),
        sort=FlowRunSort.END_TIME_DESC,
        limit=1,
    )
    return runs[0] if runs else None


_SHARDED = "flows.backfill_sharded.backfill_sharded"
_DEPLOY = "`prefect --no-prompt deploy --all`"
_MADE_BY_SETUP = {
    (FindingKind.MISSING_LIMIT, MODEL_LIMIT),
    (FindingKind.MISSING_VARIABLE, LAKE_VARIABLE),
}
_REMEDIES = {
    FindingKind.MISSING_DEPLOYMENT: f"deploy it: {_DEPLOY}",
    FindingKind.MISSING_QUEUE: f"`turnetl prefect setup`, then deploy again: {_DEPLOY}",
    FindingKind.MISSING_LIMIT: "`prefect gcl create {name} --limit N`, or correct `model_slots`",
    FindingKind.MISSING_BLOCK: (
        "`prefect block create secret` names the form in which you create it; or correct "
        "`settings_from`"
    ),
    FindingKind.MISSING_VARIABLE: "`prefect variable set {name} VALUE`, or correct `settings_from`",
}


@dataclass(frozen=True, slots=True)
class _Need:
    kind: FindingKind
    """Of the finding, if it is missing."""
    name: str


async def check_needs(
    client: PrefectClient, deployments: Sequence[DeploymentResponse], setup: ServerSetup | None
) -> list[DoctorFinding]:
    """Return a finding for each missing object that deployments name; `setup` creates it."""
    named: dict[_Need, list[str]] = {}
    for deployment in deployments:
        for need in _needs(deployment):
            named.setdefault(need, []).append(deployment.name)
    return [
        await _finding(client, need, names, setup)
        for need, names in named.items()
        if not await _exists(client, need)
    ]


def _needs(deployment: DeploymentResponse) -> Iterator[_Need]:
    parameters = deployment.parameters
    # A deployment keeps the name of a queue that was deleted, alone or with its pool.
    if deployment.work_queue_name and not deployment.work_pool_name:
        yield _Need(FindingKind.MISSING_QUEUE, deployment.work_queue_name)
    if deployment.entrypoint == _SHARDED:
        yield _Need(FindingKind.MISSING_DEPLOYMENT, SHARD)
    if limit := parameters.get("model_slots"):
        yield _Need(FindingKind.MISSING_LIMIT, limit)
    for source in (parameters.get("settings_from") or {}).values():
        kind, _, name = source.partition("/")
        is_secret = kind == "secret"
        yield _Need(FindingKind.MISSING_BLOCK if is_secret else FindingKind.MISSING_VARIABLE, name)


async def _exists(client: PrefectClient, need: _Need) -> bool:
    try:
        match need.kind:
            case FindingKind.MISSING_DEPLOYMENT:
                await client.read_deployment_by_name(need.name)
            case FindingKind.MISSING_LIMIT:
                await client.read_global_concurrency_limit_by_name(need.name)
            case FindingKind.MISSING_BLOCK:
                await client.read_block_document_by_name(need.name, "secret", include_secrets=False)
            case FindingKind.MISSING_VARIABLE:
                return await client.read_variable_by_name(need.name) is not None
            case _:
                return False
    except ObjectNotFound:
        return False
    return True


async def _finding(
    client: PrefectClient, need: _Need, deployments: Sequence[str], setup: ServerSetup | None
) -> DoctorFinding:
    can_fix = (need.kind, need.name) in _MADE_BY_SETUP
    finding = DoctorFinding(
        need.kind,
        need.name,
        f"missing, and needed by {', '.join(f'`{name}`' for name in deployments)}",
        "--fix creates it, as `turnetl prefect setup` does"
        if can_fix
        else _REMEDIES[need.kind].format(name=need.name),
        can_fix=can_fix,
    )
    if setup is None or not can_fix:
        return finding
    await _create(client, need, setup)
    return replace(finding, fixed=True)


async def _create(client: PrefectClient, need: _Need, setup: ServerSetup) -> None:
    if need.kind is FindingKind.MISSING_LIMIT:
        await setup.create_limit(client)
    else:
        await setup.create_variable(client)
