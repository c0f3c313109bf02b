"""What deployments name and Prefect's server lacks: found before a run fails for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectNotFound

from flows.server import MODEL_LIMIT
from flows.server_setup import LAKE_VARIABLE, ServerSetup
from flows.shard_runs import DEPLOYMENT as SHARD
from turnetl.prefect_report import DoctorFinding, FindingKind

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
    """An object that deployments name."""

    kind: FindingKind
    """Of the finding, if it is missing."""
    name: str


async def check_needs(
    client: PrefectClient, deployments: Sequence[DeploymentResponse], setup: ServerSetup | None
) -> list[DoctorFinding]:
    """Return a finding for each object that deployments name and that is missing.

    Args:
        client: of the server.
        deployments: of turnetl's flows.
        setup: creates those that `turnetl prefect setup` makes; None: nothing is created.
    """
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
