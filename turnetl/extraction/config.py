"""The `extraction` settings: which instructions the extraction prompts carry, and where."""

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from turnetl.base import ids
from turnetl.extraction.template import Template

DEFAULT_TEMPLATE = "default-session-turn.md"
DEFAULT_ONTOLOGY = "coding.toml"
TEMPLATE_SUFFIX = ".md"
NO_PROMPT_VALUES = ("none", "null", "false", "off")
"""Strings that mean "no instructions" where only a string can be given; case is ignored."""

_QUOTED_LENGTH = 80
"""Characters of a value that an error message quotes."""

MAX_REFLEXION = 3

PreprocessingMode = Literal["prepend", "append"]
TurnKind = Literal["error_heavy", "code_heavy", "tool_heavy", "conversational", "ordinary"]
"""The values of `episodes.kinds.KINDS`."""


def _check_prompt(value: object) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    raise ValueError("must be the name of a template (`name.md`), instructions, null or false")


def _check_kinds(value: object) -> object:
    if isinstance(value, Mapping) and (
        unknown := [kind for kind in value if kind not in get_args(TurnKind)]
    ):
        known = ", ".join(get_args(TurnKind))
        raise ValueError(f"`{unknown[0]}` is not a kind of turn; known kinds are {known}")
    return value


def _check_pass_count(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"must be a number from 0 to {MAX_REFLEXION}")  # noqa: TRY004 - pydantic expects it
    return value


PromptSetting = Annotated[bool | str | None, BeforeValidator(_check_prompt)]
"""None or False: Graphiti's own behaviour. "name.md": a template. Any other string: the
instructions. True enables preprocessing but names no instructions, so there are none."""
PromptsByKind = Annotated[Mapping[str, PromptSetting], BeforeValidator(_check_kinds)]
"""Keys are values of `TurnKind`."""
PassCount = Annotated[int, BeforeValidator(_check_pass_count), Field(ge=0, le=MAX_REFLEXION)]


class TemplateLoader(Protocol):
    """Finds templates by name. Its implementation, `templates.TemplateResolver`, imports this."""

    def load(self, name: str) -> Template | None:
        """Return the parsed template; None, with a warning, if it cannot be found or read."""
        ...


class GroupConfig(BaseModel):
    """Overrides for one group. A field that is not set has the value for all groups."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preprocessing_prompt: PromptSetting = None
    """Set to None: no instructions. Not set: the value for all groups."""
    preprocessing_mode: PreprocessingMode | None = None
    reflexion: PassCount | None = None
    kinds: PromptsByKind = Field(default_factory=dict)


class ExtractionConfig(BaseModel):
    """The `extraction` section of a config file.

    Instructions are added to the extraction prompts; they cost no extra request. The most specific
    setting wins: a kind in a group, then the group, then the kind, then the value for all turns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    preprocessing_prompt: PromptSetting = DEFAULT_TEMPLATE
    preprocessing_mode: PreprocessingMode = "prepend"
    """Whether the instructions precede or follow the hints of a reflexion pass."""
    reflexion: PassCount = 0
    """Number of reflexion passes: each asks the model what it missed and extracts again."""
    kinds: PromptsByKind = Field(default_factory=dict)
    """Instructions for turns of one kind."""
    groups: Mapping[str, GroupConfig] = Field(default_factory=dict)
    ontology: str | None = DEFAULT_ONTOLOGY
    """File with entity types and relations. None: Graphiti's own behaviour."""

    @field_validator("groups")
    @classmethod
    def _check_group_ids(cls, groups: Mapping[str, GroupConfig]) -> Mapping[str, GroupConfig]:
        for name in groups:
            if name != (group := ids.group_id(name)):
                raise ValueError(f"`{name}` is not a group id; the id of that project is `{group}`")
        return groups

    def is_enabled(self) -> bool:
        """Return whether preprocessing is on. Part of the specified interface."""
        return self.preprocessing_prompt is not None and self.preprocessing_prompt is not False

    def resolve_prompt(self, templates: TemplateLoader) -> str | None:
        """Return the instructions; None if there are none or the template does not exist.

        True names no template: preprocessing is enabled without instructions. Part of the
        specified interface; runs take the instructions from `template`.
        """
        template = self.template(templates)
        return None if template is None else template.prompt or None

    def template(self, templates: TemplateLoader) -> Template | None:
        """Return the instructions and noise patterns; None in the cases of `resolve_prompt`."""
        if not isinstance(self.preprocessing_prompt, str):
            return None
        if self.preprocessing_prompt.endswith(TEMPLATE_SUFFIX):
            return templates.load(self.preprocessing_prompt)
        return Template("inline", self.preprocessing_prompt)

    def with_prompt(self, prompt: PromptSetting) -> "ExtractionConfig":
        """Return a copy with this prompt for all turns, in place of every other prompt setting."""
        groups = {
            name: group.model_copy(update={"preprocessing_prompt": prompt, "kinds": {}})
            for name, group in self.groups.items()
        }
        return self.model_copy(
            update={"preprocessing_prompt": prompt, "kinds": {}, "groups": groups}
        )

    def prompt_for(self, group: str, kind: str = "") -> PromptSetting:
        """Return the prompt setting for turns of this group and kind."""
        override = self.groups.get(group, GroupConfig())
        if kind in override.kinds:
            return override.kinds[kind]
        if "preprocessing_prompt" in override.model_fields_set:
            return override.preprocessing_prompt
        if kind in self.kinds:
            return self.kinds[kind]
        return self.preprocessing_prompt

    def mode_for(self, group: str) -> PreprocessingMode:
        return self.groups.get(group, GroupConfig()).preprocessing_mode or self.preprocessing_mode

    def reflexion_for(self, group: str) -> int:
        override = self.groups.get(group, GroupConfig()).reflexion
        return self.reflexion if override is None else override


def prompt_warning(instructions: str) -> str | None:
    """Return a warning about instructions of one word: likely a misspelt name or `none`.

    None if they may be intended; text in a script without spaces between words is not checked.
    """
    word = instructions.strip()
    if not word.isascii() or len(word.split()) != 1 or word.endswith(TEMPLATE_SUFFIX):
        return None
    return (
        f"the instructions are one word, `{word[:_QUOTED_LENGTH]}`: write a template's name with "
        f"its suffix `{TEMPLATE_SUFFIX}`; for no instructions write `null` in a config, `none` "
        "elsewhere"
    )


def join_prompt(instructions: str | None, hints: str, mode: PreprocessingMode) -> str:
    """Join instructions and the hints of a reflexion pass in the order that the mode sets."""
    parts = [instructions or "", hints]
    if mode == "append":
        parts.reverse()
    return "\n\n".join(part for part in parts if part)
