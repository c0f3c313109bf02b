"""What a run needs to know, read once and frozen.

Order: what is handed in, then the environment (`TURNETL_*`, nested names with `__`), then the
`turnetl` and `extraction` sections of a JSON config, then the defaults. Unknown names are refused;
secrets are never printed.
"""

from turnetl.settings.model import ExtractorName, Settings
from turnetl.settings.sections import (
    BudgetSettings,
    EmbedderSettings,
    ModelSettings,
    NoiseSettings,
)
from turnetl.settings.sources import CONFIG_NAME, ENV, from_process, read

__all__ = [
    "CONFIG_NAME",
    "ENV",
    "BudgetSettings",
    "EmbedderSettings",
    "ExtractorName",
    "ModelSettings",
    "NoiseSettings",
    "Settings",
    "from_process",
    "read",
]
