"""The prompt configuration of a turn, from the config and the templates, by group and kind."""

import logging
from dataclasses import dataclass

from turnetl.base import ids
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.model import GroupId
from turnetl.extraction.config import (
    TEMPLATE_SUFFIX,
    ExtractionConfig,
    PreprocessingMode,
    PromptSetting,
    Template,
    TemplateLoader,
    join_prompt,
    prompt_warning,
)

log = logging.getLogger(__name__)

_TRUE_WARNING = "`preprocessing_prompt` is `true`, which names no template: no preprocessing"


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """Instructions and reflexion settings for one turn."""

    name: str
    """Name of the template, "inline" or "none"."""
    instructions: str | None
    """None leaves Graphiti's prompts unchanged."""
    mode: PreprocessingMode
    reflexion: int
    """Number of reflexion passes."""
    noise_patterns: tuple[str, ...] = ()
    """Patterns removed from the texts of such turns; not part of the recipe, because the digest of
    the text covers them."""

    @property
    def is_compact(self) -> bool:
        """Whether the prompts are turnetl's compact ones: Graphiti's own without instructions."""
        return self.instructions is not None

    @property
    def recipe_parts(self) -> RecipeParts:
        """Everything here that decides the output."""
        # The mode has an effect only if there are hints.
        mode = self.mode if self.reflexion and self.instructions else ""
        return {
            "template": RecipePart(ids.digest(self.instructions or ""), self.name),
            "reflexion": RecipePart(f"{self.reflexion} {mode}".strip()),
        }

    def with_hints(self, hints: str) -> str:
        """Return instructions and the hints of a reflexion pass, in the order of the mode."""
        return join_prompt(self.instructions, hints, self.mode)


class PromptConfigs:
    """The prompt configurations of a run, by group and kind of turn.

    Reads each template once, so that an edit during a run has no effect on it.
    """

    def __init__(self, config: ExtractionConfig, templates: TemplateLoader) -> None:
        self._config = config
        self._templates = templates
        self._configs: dict[tuple[GroupId, str], PromptConfig] = {}
        self._template_by_setting: dict[str | bool, Template | None] = {}

    def for_turn(self, group: GroupId, kind: str = "") -> PromptConfig:
        """Return the configuration for turns of this group and kind.

        An empty kind means turns without a template of their own.

        Raises:
            BadUsage: a template is invalid.
        """
        if (group, kind) not in self._configs:
            self._configs[group, kind] = self._build(group, kind)
        return self._configs[group, kind]

    def _build(self, group: GroupId, kind: str) -> PromptConfig:
        setting = self._config.prompt_for(group, kind)
        mode, reflexion = self._config.mode_for(group), self._config.reflexion_for(group)
        template = self._template(setting)
        instructions = template.prompt or None if template is not None else None
        return PromptConfig(
            name=_name(setting, template),
            instructions=instructions,
            mode=mode,
            reflexion=reflexion,
            noise_patterns=template.noise_patterns if template is not None else (),
        )

    def _template(self, setting: PromptSetting) -> Template | None:
        if setting is None or setting is False:
            return None
        if setting not in self._template_by_setting:
            if problem := _TRUE_WARNING if setting is True else prompt_warning(setting):
                log.warning(problem)
            config = ExtractionConfig(preprocessing_prompt=setting)
            self._template_by_setting[setting] = config.template(self._templates)
        return self._template_by_setting[setting]


def _name(setting: PromptSetting, template: Template | None) -> str:
    if template is None or not isinstance(setting, str):
        return "none"
    return setting if setting.endswith(TEMPLATE_SUFFIX) else "inline"
