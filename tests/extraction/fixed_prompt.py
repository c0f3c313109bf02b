"""Configurations of prompts that no template file decides."""

from turnetl.extraction.config import ExtractionConfig, PreprocessingMode, PromptConfigs
from turnetl.extraction.templates import TemplateResolver


def fixed_prompt(
    instructions: str | None, *, mode: PreprocessingMode = "prepend", reflexion: int = 0
) -> PromptConfigs:
    """Return configurations that are the same for every turn."""
    config = ExtractionConfig(
        preprocessing_prompt=instructions, preprocessing_mode=mode, reflexion=reflexion
    )
    return PromptConfigs(config, TemplateResolver(()))
