"""The main job as a Prefect flow."""

import os

# Read when Prefect is imported. No usage statistics to Prefect's makers, neither from this process
# nor from a server that it starts; a choice that the user made already has precedence.
os.environ.setdefault("DO_NOT_TRACK", "1")  # noqa: TID251 - read there only
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")  # noqa: TID251 - as above
