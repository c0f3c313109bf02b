"""What `turnetl prefect` made or found on Prefect's server."""

from dataclasses import dataclass
from enum import StrEnum


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
    """An object that the deployments need."""

    kind: ServerObjectKind
    name: str
    change: SetupChange
    value: str
    """What it is set to, in words."""


@dataclass(frozen=True, slots=True)
class SetupReport:
    """All objects, in the order in which they were made."""

    pool: str
    items: tuple[SetupItem, ...]


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
    """Something that is wrong on the server."""

    kind: FindingKind
    subject: str
    """The run, or the object on the server, by name."""
    message: str
    remedy: str
    """What to do, or what `--fix` does."""
    can_fix: bool = False
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was checked and found."""

    version: str
    """Of turnetl, of this process."""
    runs: int
    """Runs of turnetl's flows that count as running."""
    deployments: int
    """Deployments of turnetl's flows."""
    findings: tuple[DoctorFinding, ...] = ()

    @property
    def left(self) -> int:
        """Findings that are not fixed."""
        return sum(not finding.fixed for finding in self.findings)
