"""Runs a command in a network namespace without any network, and counts what it tried to send.

The kernel counts for all code, native code included. It does not count attempts over IPv6.
"""

import subprocess
from functools import cache
from pathlib import Path

UNSHARE = ("unshare", "--map-root-user", "--net")
_COUNTERS = "/proc/net/snmp"


@cache
def is_available() -> bool:
    """Return whether this is Linux and the user may create namespaces."""
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run(
    *command: str | Path, cwd: Path, environment: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run a command; return what it did, and the number of packets that found no route."""
    counters = cwd / "counters.txt"
    script = f'"$@"; code=$?; cat {_COUNTERS} > "$0"; exit $code'
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script, counters, *command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    names, values = (line.split() for line in counters.read_text().splitlines()[:2])
    return done, int(values[names.index("OutNoRoutes")])
