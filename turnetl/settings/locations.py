"""Paths in settings, and where a user's lake is if none names one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from turnetl.base.object_url import SCHEMES, object_url, url_scheme


def default_lake(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_DATA_HOME/turnetl/lake`, or `~/.turnetl/lake` without that variable.

    As the XDG Base Directory Specification says, a relative path in the variable is ignored.

    Args:
        environment: the process's environment.
        home: the user's home directory.
    """
    data = Path(environment.get("XDG_DATA_HOME", ""))
    return data / "turnetl" / "lake" if data.is_absolute() else home / ".turnetl" / "lake"


def _not_empty(path: object) -> object:
    # A `Path` of nothing is the working directory.
    if path == "":
        raise ValueError("must not be empty")
    return path


def _expanded(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must be a path without NUL characters")
    if scheme := url_scheme(path):
        raise ValueError(
            f"must be a path on this machine, and `{scheme}://` starts a URL; write an absolute "
            "path if a folder has that name"
        )
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("must not begin with `~` and an unknown user") from None


UserPath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_expanded)]
"""A path that may begin with `~`."""


def _expanded_lake(path: Path) -> Path:
    scheme = url_scheme(path)
    if scheme is None:
        return _expanded(path)
    object_url(path)  # Raises with what is wrong with it.
    others = ", ".join(f"`{known}://`" for known in SCHEMES)
    raise ValueError(
        f"must be a path on this machine or a URL with {others}, and not with `{scheme}://`; write "
        "an absolute path if a folder has that name"
    )


LakePath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_expanded_lake)]
"""A path that may begin with `~`. The URL of a lake was replaced before."""
