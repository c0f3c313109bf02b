"""The settings of a run: read once, then frozen.

Precedence: arguments (command-line options, parameters of a flow), then the environment
(`TURNETL_*`, sections separated by `__`), then the `turnetl` and `extraction` sections of a JSON
config file, then the defaults. A config file of the working directory counts only if the user
trusts it. Unknown names are rejected. Secrets are never printed.
"""

from turnetl.settings.credentials import project_trust, secret_files, trust_store
from turnetl.settings.loading import LoadedSettings, load_settings, load_with_sources, read_settings
from turnetl.settings.model import CONFIGURE_MODEL, ExtractorName, Settings, model_intent
from turnetl.settings.sections import BudgetSettings, EmbedderSettings, ModelSettings, NoiseSettings
from turnetl.settings.sources import ENV_PREFIX
from turnetl.settings.trusting import explain, list_trust, revoke_trust, trust_folder
