"""Print the job that a worker of a pool with `kubernetes/shard-pool.json` creates for a shard."""

import json
from pathlib import Path
from typing import Any

from prefect.utilities.templating import apply_values

TEMPLATE = Path(__file__).with_name("kubernetes") / "shard-pool.json"


def shard_job() -> dict[str, Any]:
    """Return its manifest with the defaults of the pool, and what the worker sets."""
    template = json.loads(TEMPLATE.read_text(encoding="utf-8"))
    variables = template["variables"]["properties"]
    values = {name: one["default"] for name, one in variables.items() if "default" in one}
    set_by_worker = {
        "name": "shard",
        "labels": {"prefect.io/flow-run-name": "shard"},
        "env": {},
        "command": ["prefect", "flow-run", "execute"],
    }
    manifest = template["job_configuration"]["job_manifest"]
    found: dict[str, Any] = apply_values(manifest, {**values, **set_by_worker})
    # Kubernetes makes the name of a job from its beginning.
    found["metadata"]["name"] = found["metadata"].pop("generateName") + "1"
    # Prefect requires these of a pod, where Kubernetes ignores them.
    pod = found["spec"]["template"]["spec"]
    del pod["completions"], pod["parallelism"]
    return found


if __name__ == "__main__":
    print(json.dumps(shard_job(), indent=2))
