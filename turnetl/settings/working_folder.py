"""The configuration of the working directory, as far as the user trusts it."""

import os
from collections.abc import Mapping
from pathlib import Path

from turnetl.base.errors import Fatal
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import ProjectFiles, read_project
from turnetl.trust.store import TrustStore, store_path


def working_folder(environment: Mapping[str, str], folder: Path, home: Path) -> FolderTrust:
    """Return the configuration of a folder and what of it was trusted.

    Args:
        environment: the process's environment, which decides where the trust store is.
        folder: the working directory.
        home: the user's home folder.
    """
    files = read_project(folder, home)
    # Without files there is nothing to trust: the store is not read.
    if not files.files:
        return FolderTrust(files)
    try:
        trusted = TrustStore(store_path(environment, home)).folders().get(files.folder)
    except Fatal as error:
        return FolderTrust(files, store_problem=str(error))
    return FolderTrust(files, trusted.files if trusted is not None else None)


def trusted_project() -> ProjectFiles | None:
    """Return the configuration in the working directory of this process if it is trusted."""
    folder = working_folder(os.environ, Path.cwd(), Path.home())  # noqa: TID251 - where the store is
    return folder.files if folder.is_trusted else None


def trust_store() -> TrustStore:
    """Return the trust store of the user of this process."""
    return TrustStore(store_path(os.environ, Path.home()))  # noqa: TID251 - where the store is
