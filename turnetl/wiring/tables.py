"""The lake of the settings."""

import os
from pathlib import Path

from turnetl.lake import Lake
from turnetl.object_url import cache_folder
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

    environment = os.environ  # noqa: TID251 - that of the provider's own chain
    prefix = _PREFIXES[settings.lake_url.scheme]
    allow_http = environment.get(f"{prefix}_ALLOW_HTTP", "").lower() in ("1", "true")
    copies = cache_folder(environment, Path.home())
    files = ObjectFiles(settings.lake_url, copies, allow_http=allow_http)
    return Lake(files.root, files, settings.lake)
