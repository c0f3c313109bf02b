"""The settings of a run: read once, then frozen.

Precedence: arguments (command-line options, parameters of a flow), then the environment
(`TURNETL_*`, sections separated by `__`), then the `turnetl` and `extraction` sections of a JSON
config file, then the defaults. Unknown names are rejected. Secrets are never printed.
"""

from turnetl.settings.loading import load_settings, read_settings
from turnetl.settings.model import ExtractorName, Settings
from turnetl.settings.model_intent import model_intent
from turnetl.settings.sections import (
    BudgetSettings,
    EmbedderSettings,
    ModelSettings,
    NoiseSettings,
)
from turnetl.settings.sources import CONFIG_NAME, ENV_PREFIX

__all__ = [
    "CONFIG_NAME",
    "ENV_PREFIX",
    "BudgetSettings",
    "EmbedderSettings",
    "ExtractorName",
    "ModelSettings",
    "NoiseSettings",
    "Settings",
    "load_settings",
    "model_intent",
    "read_settings",
]
