"""Where a user's lake is, if no setting names one."""

from collections.abc import Mapping
from pathlib import Path


def default_lake(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_DATA_HOME/turnetl/lake`, or `~/.turnetl/lake` without that variable.

    As the XDG Base Directory Specification says, a relative path in the variable is ignored.

    Args:
        environment: the process's environment.
        home: the user's home directory.
    """
    data = Path(environment.get("XDG_DATA_HOME", ""))
    return data / "turnetl" / "lake" if data.is_absolute() else home / ".turnetl" / "lake"
