"""All benchmarks of user-visible performance, one after the other: `make bench`.

Each can also be run by itself. `benchmarks.commit` is omitted, because `benchmarks.ingest` includes
its commits; run it when a store changes.
"""

import subprocess
import sys

NAMES = (
    "startup",
    "bombs",
    "parse",
    "redaction",
    "episodes",
    "graph_quality",
    "retrieval",
    "index",
    "unchanged",
    "backfill_cost",
    "large_lake",
    "ingest",
    "filter",
    "journal",
    "model_stack_cpu",
    "shared_limits",
    "faults",
    "turns_cpu",
    "group_size",
    "replay",
    "session",
    "budget",
    "budget_archives",
    "estimate",
    "commit_record",
    "communities",
    "summaries",
    "summary_runs",
    "undo",
    "redo",
    "verify",
    "tables",
    "export",
    "migration",
    "migration_stages",
    "migration_expressed",
    "prefect_overhead",
)

codes = []
for name in NAMES:
    print(f"\n== python -m benchmarks.{name}\n", flush=True)
    codes.append(
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
    )
sys.exit(max(codes))
