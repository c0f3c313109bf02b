"""Models: language models and embedders, and Graphiti's client classes in front of them."""

import os

# Graphiti reports home whenever a `Graphiti` is built, unless this says no. Nothing here builds
# one; this is for the day somebody does. A choice that the person made already stands.
os.environ.setdefault("GRAPHITI_TELEMETRY_ENABLED", "false")  # noqa: TID251 - read there only
