"""What a person would notice, measured one after the other: `make bench`. Each stands alone too.

`benchmarks.commit` is left out: `benchmarks.ingest` times the same commits with all that surrounds
them; commit alone is for those who work on a store.
"""

import subprocess
import sys

NAMES = (
    "startup",
    "parse",
    "redaction",
    "episodes",
    "entities",
    "retrieval",
    "ingest",
    "filter",
    "journal",
    "calls",
    "faults",
    "turns_cpu",
    "replay",
    "session",
)

codes = []
for name in NAMES:
    print(f"\n== python -m benchmarks.{name}\n", flush=True)
    codes.append(
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
    )
sys.exit(max(codes))
