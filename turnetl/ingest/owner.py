"""Who holds a lease: `host:pid`. A person knows whom to ask, and a killed run is recognised."""

import os
import platform


def name() -> str:
    """Return the owner that this process is."""
    return f"{platform.node()}:{os.getpid()}"


def is_dead(owner: str) -> bool:
    """Whether that process is known to be gone. Nothing is known of another host."""
    host, _, pid = owner.rpartition(":")
    if host != platform.node() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
