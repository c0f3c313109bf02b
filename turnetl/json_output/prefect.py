"""`turnetl prefect setup --json` and `turnetl prefect doctor --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.prefect_report import (
    DoctorReport,
    FindingKind,
    ServerObjectKind,
    SetupChange,
    SetupReport,
)


class SetupItemOutput(JsonOutput):
    """An object on Prefect's server that the deployments need."""

    kind: Annotated[
        ServerObjectKind, described("`work_pool`, `queue`, `limit`, `variable` or `automation`.")
    ]
    name: Annotated[str, described("Its name.")]
    change: Annotated[SetupChange, described("`created`, `changed`, or `kept` as it was found.")]
    value: Annotated[str, described("What it is set to, in words.")]


class PrefectSetupOutput(JsonOutput):
    """What the set-up made."""

    pool: Annotated[str, described("The work pool.")]
    items: Annotated[list[SetupItemOutput], described("All objects, as they were made.")]


class DoctorFindingOutput(JsonOutput):
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
    can_fix: Annotated[bool, described("Whether `--fix` fixes it.")]
    fixed: Annotated[bool, described("Whether it was fixed.")]


class PrefectDoctorOutput(JsonOutput):
    """What was checked and found."""

    version: Annotated[str, described("Version of turnetl of this command.")]
    runs: Annotated[int, described("Runs of turnetl's flows that count as running.")]
    deployments: Annotated[int, described("Deployments of turnetl's flows.")]
    findings: Annotated[list[DoctorFindingOutput], described("What is wrong, or was.")]


def setup_output(report: SetupReport) -> PrefectSetupOutput:
    return PrefectSetupOutput(
        pool=report.pool,
        items=[
            SetupItemOutput(kind=item.kind, name=item.name, change=item.change, value=item.value)
            for item in report.items
        ],
    )


def doctor_output(report: DoctorReport) -> PrefectDoctorOutput:
    return PrefectDoctorOutput(
        version=report.version,
        runs=report.runs,
        deployments=report.deployments,
        findings=[
            DoctorFindingOutput(
                kind=one.kind,
                subject=one.subject,
                message=one.message,
                remedy=one.remedy,
                can_fix=one.can_fix,
                fixed=one.fixed,
            )
            for one in report.findings
        ],
    )
