"""Print `turnetl status --json` as metrics of Prometheus.

    turnetl status --json | python deploy/status_metrics.py > /var/lib/node_exporter/turnetl.prom

For the textfile collector of node_exporter. It names groups, never a text of a turn.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

_OF_GROUP = ("committed", "pending", "quarantined", "stale")


def metrics(status: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a status, or `turnetl_status_failed 1` for an error."""
    yield f"turnetl_status_failed {int('error' in status)}"
    if "error" in status:
        return
    for group in status["groups"]:
        label = json.dumps(group["group"], ensure_ascii=False)
        for name in _OF_GROUP:
            yield f"turnetl_turns_{name}{{group={label}}} {group[name]}"
        yield f"turnetl_group_failed{{group={label}}} {int(group['error'] is not None)}"
    index = status["index"]
    if index is not None:
        yield f"turnetl_index_turns_behind {index['turns_behind'] or 0}"
    yield f"turnetl_index_failed {int(status['index_problem'] is not None)}"
    if status["usage"]["cost"] is not None:
        yield f"turnetl_cost_usd {status['usage']['cost']}"


if __name__ == "__main__":
    for line in metrics(json.load(sys.stdin)):
        print(line)
