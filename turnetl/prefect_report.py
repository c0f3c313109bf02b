"""What `turnetl prefect` made or found on Prefect's server."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from turnetl.base.results import described


class ServerObjectKind(StrEnum):
    """Objects on Prefect's server."""

    WORK_POOL = "work_pool"
    QUEUE = "queue"
    LIMIT = "limit"
    VARIABLE = "variable"
    AUTOMATION = "automation"


class SetupChange(StrEnum):
    """What the set-up did with an object."""

    CREATED = "created"
    CHANGED = "changed"
    KEPT = "kept"
    """It existed; nothing of it was changed."""


@dataclass(frozen=True, slots=True)
class SetupItem:
    """An object on Prefect's server that the deployments need."""

    kind: Annotated[
        ServerObjectKind, described("`work_pool`, `queue`, `limit`, `variable` or `automation`.")
    ]
    name: Annotated[str, described("Its name.")]
    change: Annotated[SetupChange, described("`created`, `changed`, or `kept` as it was found.")]
    value: Annotated[str, described("What it is set to, in words.")]


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What the set-up made."""

    pool: Annotated[str, described("The work pool.")]
    items: Annotated[tuple[SetupItem, ...], described("All objects, as they were made.")]


class FindingKind(StrEnum):
    """What may be wrong."""

    ZOMBIE_RUN = "zombie_run"
    """A run that counts as running and gives no sign of life."""
    LEAKED_SLOTS = "leaked_slots"
    """Slots of a concurrency limit that no run holds."""
    DEPLOYMENT_VERSION = "deployment_version"
    """A deployment of another version of turnetl than this one."""
    WORKER_VERSION = "worker_version"
    """A worker whose last run had another version of turnetl than its deployment."""
    MISSING_DEPLOYMENT = "missing_deployment"
    """A deployment whose runs another one starts."""
    MISSING_QUEUE = "missing_queue"
    """The work queue of a deployment, alone or with its work pool."""
    MISSING_LIMIT = "missing_limit"
    """A concurrency limit that a deployment names."""
    MISSING_BLOCK = "missing_block"
    """A Secret block that a deployment names."""
    MISSING_VARIABLE = "missing_variable"
    """A variable that a deployment names."""
    NO_WORKER = "no_worker"
    """A work pool without a worker."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Something that is wrong on Prefect's server."""

    kind: Annotated[
        FindingKind,
        described(
            "`zombie_run`, `leaked_slots`, `deployment_version`, `worker_version`, `no_worker`; or "
            "`missing_deployment`, `missing_queue`, `missing_limit`, `missing_block` or "
            "`missing_variable`, which the next run of a deployment would need."
        ),
    ]
    subject: Annotated[str, described("The run, or the object on the server, by name.")]
    message: Annotated[str, described("What is wrong.")]
    remedy: Annotated[str, described("What to do, or what `--fix` does.")]
    can_fix: Annotated[bool, described("Whether `--fix` fixes it.")] = False
    fixed: Annotated[bool, described("Whether it was fixed.")] = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was checked and found."""

    version: Annotated[str, described("Version of turnetl of this command.")]
    runs: Annotated[int, described("Runs of turnetl's flows that count as running.")]
    deployments: Annotated[int, described("Deployments of turnetl's flows.")]
    findings: Annotated[tuple[DoctorFinding, ...], described("What is wrong, or was.")] = ()

    @property
    def left(self) -> int:
        """Findings that are not fixed."""
        return sum(not finding.fixed for finding in self.findings)
