"""The owner of a lease, `host:pid:run`: it tells a user who writes, and a run that was killed."""

import os
import platform
import sys


def owner_name(run_id: str) -> str:
    """Return the owner name of a run in this process."""
    return f"{platform.node()}:{os.getpid()}:{run_id[:8]}"


def is_dead(owner: str, *, system: str = sys.platform) -> bool:
    """Return whether the owner's process is known to have ended.

    A process on another host is not known. On Windows no process is: Python has no signal there
    that does nothing, and `os.kill(pid, 0)` would terminate the process.

    Args:
        owner: from `owner_name`.
        system: the operating system of this process, as `sys.platform`.
    """
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if system == "win32" or host != platform.node() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
