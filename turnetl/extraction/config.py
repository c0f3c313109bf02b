"""How extraction is steered: which instructions ride on the extraction prompts, and where."""

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from turnetl import ids
from turnetl.extraction.preprocessor import Preprocessor

DEFAULT_TEMPLATE = "default-session-turn.md"
DEFAULT_ONTOLOGY = "coding.toml"
TEMPLATE_ENDING = ".md"
OFF = ("none", "null", "false", "off")
"""What stands for no instructions where all that can be said is a word, in any letters."""

_SHOWN = 80
"""Characters of a word that are told."""

Mode = Literal["prepend", "append"]
Kind = Literal["error_heavy", "code_heavy", "tool_heavy", "conversational", "ordinary"]
"""The words of `episodes.classify.KINDS`."""


def _said(given: object) -> object:
    if given is None or isinstance(given, bool | str):
        return given
    raise ValueError("must be the name of a template (`name.md`), instructions, null or false")


def _named_kinds(given: object) -> object:
    if isinstance(given, Mapping) and (strange := [k for k in given if k not in get_args(Kind)]):
        known = ", ".join(get_args(Kind))
        raise ValueError(f"`{strange[0]}` is no kind of turn; known are {known}")
    return given


def _times(given: object) -> object:
    if isinstance(given, bool):
        raise ValueError("must be a number from 0 to 3")  # noqa: TRY004 - pydantic's way
    return given


Said = Annotated[bool | str | None, BeforeValidator(_said)]
"""None or False: Graphiti's own behaviour. "name.md": a template. Else: the instructions. True
says that there are instructions, and not which: there are none."""
Kinds = Annotated[Mapping[str, Said], BeforeValidator(_named_kinds)]
"""By a word of `Kind`."""
Times = Annotated[int, BeforeValidator(_times), Field(ge=0, le=3)]


class TemplateSource(Protocol):
    """Where templates come from."""

    def load(self, name: str) -> str | None:
        """Return the instructions of that name; None, with a warning, if there are none."""
        ...

    def preprocessor(self, name: str) -> Preprocessor | None:
        """Return all that the template of that name says; as `load`."""
        ...


class GroupConfig(BaseModel):
    """How one group differs; what is not said here is as for all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preprocessing_prompt: Said = None
    """Said to be None, it is none; not said, it is what all groups have."""
    preprocessing_mode: Mode | None = None
    reflexion: Times | None = None
    kinds: Kinds = Field(default_factory=dict)


class ExtractionConfig(BaseModel):
    """The `extraction` section of a config file.

    Instructions ride on the extraction calls that are made anyway: there is no pass of their own.
    What is said of a kind in a group wins over what is said of the group, that over what is said of
    the kind, and that over what is said for all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    preprocessing_prompt: Said = DEFAULT_TEMPLATE
    preprocessing_mode: Mode = "prepend"
    """Whether the instructions stand before or after the hints of a reflexion pass."""
    reflexion: Times = 0
    """Times that the model is asked what it missed, each with another extraction."""
    kinds: Kinds = Field(default_factory=dict)
    """Instructions for turns that are mostly made of one thing."""
    groups: Mapping[str, GroupConfig] = Field(default_factory=dict)
    ontology: str | None = DEFAULT_ONTOLOGY
    """Kinds of things and facts, a file among the templates. None: Graphiti's own behaviour."""

    @field_validator("groups")
    @classmethod
    def _are_groups(cls, groups: Mapping[str, GroupConfig]) -> Mapping[str, GroupConfig]:
        for name in groups:
            if name != (group := ids.group_id(name)):
                raise ValueError(f"no group is called `{name}`; that project's is `{group}`")
        return groups

    def is_enabled(self) -> bool:
        return self.preprocessing_prompt is not None and self.preprocessing_prompt is not False

    def resolve_prompt(self, templates: TemplateSource) -> str | None:
        """Return the instructions; None if there are none, or no such template.

        True names no template: there is preprocessing, with nothing said.
        """
        if not isinstance(self.preprocessing_prompt, str):
            return None
        if self.preprocessing_prompt.endswith(TEMPLATE_ENDING):
            return templates.load(self.preprocessing_prompt)
        return self.preprocessing_prompt

    def preprocessor(self, templates: TemplateSource) -> Preprocessor | None:
        """Return all that is said, patterns for the texts among it; None as `resolve_prompt`."""
        if not isinstance(self.preprocessing_prompt, str):
            return None
        if self.preprocessing_prompt.endswith(TEMPLATE_ENDING):
            return templates.preprocessor(self.preprocessing_prompt)
        return Preprocessor("inline", self.preprocessing_prompt)

    def for_run(self, prompt: Said) -> "ExtractionConfig":
        """Return this with the same instructions for all turns, whatever is said of any."""
        groups = {
            name: group.model_copy(update={"preprocessing_prompt": prompt, "kinds": {}})
            for name, group in self.groups.items()
        }
        return self.model_copy(
            update={"preprocessing_prompt": prompt, "kinds": {}, "groups": groups}
        )

    def prompt_of(self, group: str, kind: str = "") -> Said:
        """Return what is said about turns of a group and kind."""
        own = self.groups.get(group, GroupConfig())
        if kind in own.kinds:
            return own.kinds[kind]
        if "preprocessing_prompt" in own.model_fields_set:
            return own.preprocessing_prompt
        if kind in self.kinds:
            return self.kinds[kind]
        return self.preprocessing_prompt

    def mode_of(self, group: str) -> Mode:
        return self.groups.get(group, GroupConfig()).preprocessing_mode or self.preprocessing_mode

    def reflexion_of(self, group: str) -> int:
        own = self.groups.get(group, GroupConfig()).reflexion
        return self.reflexion if own is None else own


def slip(instructions: str) -> str | None:
    """Say why instructions are none: a single word is some name, or `none`, miswritten.

    None if they may be meant so; languages that part no words are not judged.
    """
    word = instructions.strip()
    if not word.isascii() or len(word.split()) != 1 or word.endswith(TEMPLATE_ENDING):
        return None
    return (
        f"instructions of one word, `{word[:_SHOWN]}`: a template is named with its ending "
        f"`{TEMPLATE_ENDING}`, and no instructions are `null` in a config, `none` elsewhere"
    )


def join(instructions: str | None, hints: str, mode: Mode) -> str:
    """Put instructions and the hints of a reflexion pass together, by mode."""
    parts = [instructions or "", hints]
    if mode == "append":
        parts.reverse()
    return "\n\n".join(part for part in parts if part)
