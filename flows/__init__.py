"""The Prefect flows: a few lines over the pipeline each."""

import os
from importlib.util import find_spec

if find_spec("prefect") is None:
    raise ModuleNotFoundError(
        "the flows need Prefect, which is not installed: run `pip install 'turnetl[prefect]'`",
        name="prefect",
    )

# Read when Prefect is imported. No usage statistics to Prefect's makers, neither from this process
# nor from a server that it starts; a choice that the user made already has precedence.
os.environ.setdefault("DO_NOT_TRACK", "1")  # noqa: TID251 - read there only
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")  # noqa: TID251 - as above
