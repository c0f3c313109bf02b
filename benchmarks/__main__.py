"""All measurements, one after the other: `make bench`. Each stands alone too."""

import subprocess
import sys

NAMES = ("startup", "parse", "entities", "retrieval", "ingest")

for name in NAMES:
    print(f"\n== python -m benchmarks.{name}\n", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
