"""Who holds a lease: `host:pid:run`. A person knows whom to ask, and a killed run is recognised."""

import os
import platform


def name(run_id: str) -> str:
    """Return the owner that a run of this process is."""
    return f"{platform.node()}:{os.getpid()}:{run_id[:8]}"


def is_dead(owner: str) -> bool:
    """Whether that process is known to be gone. Nothing is known of another host."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if host != platform.node() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
