"""What a turn of a group and kind is extracted with: the config and the templates, put together."""

import logging
from dataclasses import dataclass

from turnetl import ids
from turnetl.extraction.config import (
    TEMPLATE_ENDING,
    ExtractionConfig,
    Mode,
    TemplateSource,
    join,
    slip,
)
from turnetl.extraction.preprocessor import Preprocessor
from turnetl.model import GroupId

log = logging.getLogger(__name__)

_TRUE = "a `preprocessing_prompt` that is `true` names no template: no preprocessing"


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """What is said to the model about one turn."""

    name: str
    """Of the template; "inline" or "none"."""
    instructions: str | None
    """None leaves the prompts as Graphiti's are."""
    mode: Mode
    reflexion: int
    """Times that the model is asked what was missed."""
    digest: str
    """Of all that decides what comes out."""
    noise_patterns: tuple[str, ...] = ()
    """What the texts of such turns leave out: it stands in the text's own digest."""

    def join(self, hints: str) -> str:
        """Return instructions and the hints of a reflexion pass, in the order of the mode."""
        return join(self.instructions, hints, self.mode)


class PromptConfigs:
    """Says how turns are extracted. Each template is read once: a run sees no half of an edit."""

    def __init__(self, config: ExtractionConfig, templates: TemplateSource) -> None:
        self._config = config
        self._templates = templates
        self._steers: dict[tuple[GroupId, str], PromptConfig] = {}
        self._read: dict[str | bool, Preprocessor | None] = {}

    def of(self, group: GroupId, kind: str = "") -> PromptConfig:
        """Return what is said about a turn; no kind stands for a turn that has none of its own.

        Raises:
            BadUsage: a template that cannot be used.
        """
        if (group, kind) not in self._steers:
            self._steers[group, kind] = self._made(group, kind)
        return self._steers[group, kind]

    def _made(self, group: GroupId, kind: str) -> PromptConfig:
        said = self._config.prompt_of(group, kind)
        mode, reflexion = self._config.mode_of(group), self._config.reflexion_of(group)
        found = self._prepared(said)
        instructions = found.prompt or None if found is not None else None
        # Without hints there is nothing to be before or after.
        place = mode if reflexion and instructions else ""
        return PromptConfig(
            name=_named(said, found),
            instructions=instructions,
            mode=mode,
            reflexion=reflexion,
            digest=ids.digest(instructions or "", place, str(reflexion)),
            noise_patterns=found.noise_patterns if found is not None else (),
        )

    def _prepared(self, said: bool | str | None) -> Preprocessor | None:
        if said is None or said is False:
            return None
        if said not in self._read:
            if wrong := _TRUE if said is True else slip(said):
                log.warning(wrong)
            config = ExtractionConfig(preprocessing_prompt=said)
            self._read[said] = config.preprocessor(self._templates)
        return self._read[said]


def always(
    instructions: str | None, *, mode: Mode = "prepend", reflexion: int = 0
) -> PromptConfigs:
    """Return a steering that says the same about every turn."""
    config = ExtractionConfig(
        preprocessing_prompt=instructions, preprocessing_mode=mode, reflexion=reflexion
    )
    return PromptConfigs(config, _Nowhere())


class _Nowhere:
    """Where there are no templates."""

    def load(self, name: str) -> str | None:  # noqa: ARG002 - there are none
        return None

    def preprocessor(self, name: str) -> Preprocessor | None:  # noqa: ARG002 - there are none
        return None


def _named(said: bool | str | None, found: Preprocessor | None) -> str:
    if found is None or not isinstance(said, str):
        return "none"
    return said if said.endswith(TEMPLATE_ENDING) else "inline"
