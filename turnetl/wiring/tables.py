"""The lake of the settings, the files of archives, and the machine that has them."""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from turnetl.agent_sources import AgentMachine, windows_homes
from turnetl.base.object_url import cache_folder
from turnetl.lake import Lake
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles, RoutedArchives
from turnetl.settings import Settings

_PREFIXES = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}
"""Of the environment variables of each provider."""


def lake(settings: Settings) -> Lake:
    """Return the lake: in its folder, or in an object store with copies in the user's cache.

    Opens nothing. The journal, an embedded graph and the index are in `settings.lake`.
    """
    if settings.lake_url is None:
        return Lake(settings.lake)
    from turnetl.lake.object_files import ObjectFiles

    copies = cache_folder(_environment(), Path.home())
    allow_http = _allows_http(settings.lake_url.scheme)
    files = ObjectFiles(settings.lake_url, copies, allow_http=allow_http)
    return Lake(files.root, files, settings.lake)


def lake_in(folder: Path) -> Lake:
    return Lake(folder)


def archive_files() -> ArchiveFiles:
    """Return where archives are read: on this machine and in object stores. Opens nothing."""
    from turnetl.parsing.object_archives import ObjectArchives

    objects = ObjectArchives([scheme for scheme in _PREFIXES if _allows_http(scheme)])
    return RoutedArchives(LOCAL, objects)


def machine_name() -> str:
    """Return the name of this machine in exports: the first part of its host name."""
    return platform.node().partition(".")[0].lower()


def this_machine() -> AgentMachine:
    homes = windows_homes(Path("/mnt/c/Users"), _environment())
    return AgentMachine(_environment(), Path.home(), sys.platform, homes)


def _allows_http(scheme: str) -> bool:
    """Return whether the provider's endpoint may be one without TLS."""
    return _environment().get(f"{_PREFIXES[scheme]}_ALLOW_HTTP", "").lower() in ("1", "true")


def _environment() -> Mapping[str, str]:
    return os.environ  # noqa: TID251 - that of the provider's own chain, and of other agents
