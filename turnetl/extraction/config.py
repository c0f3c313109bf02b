"""How extraction is steered: which instructions ride on the extraction prompts, and where."""

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from turnetl.extraction.preprocessor import Preprocessor

DEFAULT_TEMPLATE = "default-session-turn.md"


class TemplateSource(Protocol):
    """Where templates come from."""

    def load(self, name: str) -> str | None:
        """Return the instructions of that name; None, with a warning, if there are none."""
        ...

    def preprocessor(self, name: str) -> Preprocessor | None:
        """Return all that the template of that name says; as `load`."""
        ...


class ExtractionConfig(BaseModel):
    """The `extraction` section of a config file.

    Instructions ride on the extraction calls that are made anyway: there is no pass of their own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    preprocessing_prompt: bool | str | None = Field(default=DEFAULT_TEMPLATE)
    """None or False: Graphiti's own behaviour. "name.md": a template. Else: the instructions."""
    preprocessing_mode: Literal["prepend", "append"] = "prepend"
    """Whether the instructions stand before or after the hints of a reflexion pass."""

    def is_enabled(self) -> bool:
        return self.preprocessing_prompt is not None and self.preprocessing_prompt is not False

    def resolve_prompt(self, templates: TemplateSource) -> str | None:
        """Return the instructions; None if there are none, or no such template."""
        if not isinstance(self.preprocessing_prompt, str):
            return None
        if self.preprocessing_prompt.endswith(".md"):
            return templates.load(self.preprocessing_prompt)
        return self.preprocessing_prompt

    def preprocessor(self, templates: TemplateSource) -> Preprocessor | None:
        """Return all that is said, patterns for the texts among it; None as `resolve_prompt`."""
        if not isinstance(self.preprocessing_prompt, str):
            return None
        if self.preprocessing_prompt.endswith(".md"):
            return templates.preprocessor(self.preprocessing_prompt)
        return Preprocessor("inline", self.preprocessing_prompt)

    def join(self, instructions: str | None, hints: str) -> str:
        """Put instructions and the hints of a reflexion pass together, by mode."""
        parts = [instructions or "", hints]
        if self.preprocessing_mode == "append":
            parts.reverse()
        return "\n\n".join(part for part in parts if part)
