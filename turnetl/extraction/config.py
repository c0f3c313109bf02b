"""The `extraction` settings: which instructions the extraction prompts of a turn carry, and where.

A template has instructions for the model, and noise patterns removed from episode texts. It may
begin with front matter, YAML between two lines of `---`, with the keys `name`, `description`,
`noise_patterns` and `focus_areas`. The rest is the instructions; without front matter the whole
file is.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.model import GroupId
from turnetl.base.user_files import regex_error

log = logging.getLogger(__name__)

_FENCE = "---"
_STRING_KEYS, _LIST_KEYS = ("name", "description"), ("noise_patterns", "focus_areas")
_FOCUS_HEADING = "### Focus"
_QUOTED_LENGTH = 80
"""Characters of a pattern that a message quotes."""


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    instructions: str
    noise_patterns: tuple[str, ...] = ()
    """Regular expressions in Rust's syntax, as polars uses it. Their matches are removed from
    episode texts, except from prompts and steering."""
    focus_areas: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        """The text for the model: the instructions, then a list of the focus areas if any."""
        focus = "\n".join([_FOCUS_HEADING, *(f"- {area}" for area in self.focus_areas)])
        return "\n\n".join(
            part for part in (self.instructions, focus if self.focus_areas else "") if part
        )


def parse_template_file(text: str, path: Path) -> Template:
    """Parse a template and log a warning about unknown keys.

    The stem of its path is the name if the template has no `name`; messages name the file.
    """
    try:
        template, unknown_keys = parse_template(text, path.stem)
    except BadUsage as error:
        raise BadUsage(f"template `{path}`: {error}") from error
    if unknown_keys:
        log.warning("template `%s`: %s", path, unknown_keys)
    return template


def parse_template(text: str, name: str) -> tuple[Template, str | None]:
    """Return the parsed template, and a message about unknown keys if there are any.

    Raises:
        BadUsage: the front matter is invalid. It is not ignored, because text that the noise
            patterns remove must not reach the graph. The message names the problem and the line,
            not the file.
    """
    front_matter, body = _split(text)
    if front_matter is None:
        return Template(name, body), None
    # YAML takes 0.02 s to import, and few commands read a template.
    from turnetl.extraction.front_matter import load  # noqa: PLC0415

    values = load(front_matter)
    for problem in _problems(values):
        raise BadUsage(problem)
    template = Template(
        name=values.get("name") or name,
        instructions=body,
        noise_patterns=tuple(values.get("noise_patterns") or ()),
        focus_areas=tuple(values.get("focus_areas") or ()),
    )
    return template, _unknown_keys(values)


def _split(text: str) -> tuple[str | None, str]:
    """Return front matter, None if there is none, and the body.

    Front matter is padded with blank lines, so that its line numbers are those of the file.
    """
    body = text.strip()
    first, *lines = body.split("\n")
    if first.rstrip() != _FENCE:
        return None, body
    line_number = text[: text.index(_FENCE)].count("\n") + 1
    end = next((number for number, line in enumerate(lines) if line.rstrip() == _FENCE), None)
    if end is None:
        raise BadUsage(
            f"line {line_number}: front matter begins here and has no end; add a line `{_FENCE}` "
            "after it, or write a horizontal rule as `***`"
        )
    return "\n" * line_number + "\n".join(lines[:end]), "\n".join(lines[end + 1 :]).strip()


def _unknown_keys(values: Mapping[str, Any]) -> str | None:
    known = (*_STRING_KEYS, *_LIST_KEYS)
    unknown = [str(key) for key in values if key not in known]
    if not unknown:
        return None
    return f"unknown key `{'`, `'.join(unknown)}`; known keys are {', '.join(known)}"


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    for key in _STRING_KEYS:
        if not isinstance(values.get(key), str | None):
            yield f"`{key}` must be a string"
    for key in _LIST_KEYS:
        value = values.get(key)
        is_valid = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        if value is not None and not is_valid:
            yield f"`{key}` must be a list of strings, none of them empty"
    for pattern in values.get("noise_patterns") or ():
        if problem := regex_error(pattern):
            yield f"noise pattern `{pattern[:_QUOTED_LENGTH]}` {problem}"


DEFAULT_TEMPLATE = "default-session-turn.md"
DEFAULT_ONTOLOGY = "coding.toml"
TEMPLATE_SUFFIX = ".md"
NO_PROMPT_VALUES = ("none", "null", "false", "off")
"""Strings that mean "no instructions" where only a string can be given; case is ignored."""
MAX_REFLEXION = 3

PreprocessingMode = Literal["prepend", "append"]
PromptLength = Literal["full", "short"]
PromptStyle = Literal["graphiti", "compact", "short"]
"""Of the prompts of a turn; see `extraction.llm.clients`."""
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
    prompts: PromptLength = "full"
    """`short`: prompts without worked examples, for small models."""
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

    length: PromptLength = "full"

    @property
    def style(self) -> PromptStyle:
        """Whose prompts the turn has: without instructions, Graphiti's own."""
        if self.length == "short":
            return "short"
        return "graphiti" if self.instructions is None else "compact"

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
        """Return the configuration; an empty kind means turns without a template of their own."""
        if (group, kind) not in self._configs:
            self._configs[group, kind] = self._build(group, kind)
        return self._configs[group, kind]

    def _build(self, group: GroupId, kind: str) -> PromptConfig:
        setting = self._config.prompt_for(group, kind)
        template = self._template(setting)
        return PromptConfig(
            name=_name(setting, template),
            instructions=template.prompt or None if template is not None else None,
            mode=self._config.mode_for(group),
            reflexion=self._config.reflexion_for(group),
            noise_patterns=template.noise_patterns if template is not None else (),
            length=self._config.prompts,
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
