"""Whether settings show that a run is meant to use a language model, and how to configure one."""

from collections.abc import Iterator

from turnetl.extraction.config import DEFAULT_ONTOLOGY, DEFAULT_TEMPLATE, ExtractionConfig
from turnetl.settings.model import Settings

CONFIGURE_MODEL = (
    "set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and TURNETL_LLM__API_KEY, or use "
    "`--extractor structural`, which needs no model"
)
"""What to do if no model is configured."""
_RECIPE = ("model", "models", "base_url", "api_key", "effort")
"""The settings of `llm` that choose a model. The others set limits, also of models of a search."""


def model_intent(settings: Settings) -> tuple[str, ...]:
    """Return the names of settings without effect unless there is a model; no defaults."""
    budget = (f"budget.{name}" for name, limit in settings.budget if limit is not None)
    model = (f"llm.{name}" for name in _RECIPE if getattr(settings.llm, name))
    extraction = (f"extraction.{name}" for name in _extraction_names(settings.extraction))
    return (*budget, *model, *extraction)


def _extraction_names(config: ExtractionConfig) -> Iterator[str]:
    groups = config.groups.values()
    prompts = (
        *config.kinds.values(),
        *(group.preprocessing_prompt for group in groups),
        *(prompt for group in groups for prompt in group.kinds.values()),
    )
    if any(prompts) or config.preprocessing_prompt not in (DEFAULT_TEMPLATE, None, False):
        yield "preprocessing_prompt"
    if config.reflexion or any(group.reflexion for group in groups):
        yield "reflexion"
    if config.ontology not in (DEFAULT_ONTOLOGY, None):
        yield "ontology"
