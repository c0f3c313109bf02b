"""A nightly run on a schedule, served by this process until it is stopped.

prefect server start                                          # in a terminal of its own
export PREFECT_API_URL=http://127.0.0.1:4200/api
python examples/schedule_nightly.py ~/.claude/projects ~/lake

prefect.yaml has deployments for a worker; this one needs no work pool. Passwords and keys come from
the environment of this process, as TURNETL_LLM__API_KEY: Prefect stores and shows parameters.
"""

import sys
from pathlib import Path

from prefect import serve
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron
from prefect.types.entrypoint import EntrypointType

from flows.nightly import nightly


def deployment(archives: Path, lake: Path) -> RunnerDeployment:
    """Return the deployment; no server is needed."""
    return RunnerDeployment.from_flow(
        nightly,
        "scheduled",
        schedule=Cron("0 3 * * *", timezone="Europe/Berlin"),
        parameters={
            # A run has a working directory of its own.
            "archives": [str(archives.expanduser().absolute())],
            "lake": str(lake.expanduser().absolute()),
            "digest_days": 7,
        },
        # The flow is part of the installed package.
        entrypoint_type=EntrypointType.MODULE_PATH,
        concurrency_limit=1,
        tags=["turnetl"],
    )


if __name__ == "__main__":
    serve(deployment(Path(sys.argv[1]), Path(sys.argv[2])))
