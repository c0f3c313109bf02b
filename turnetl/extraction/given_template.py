"""A template that a user names for a comparison: by name, by path, or `none`."""

from dataclasses import dataclass
from pathlib import Path

from turnetl.base import ids
from turnetl.extraction.config import (
    NO_PROMPT_VALUES,
    TEMPLATE_SUFFIX,
    ExtractionConfig,
)
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.extraction.template import Template
from turnetl.extraction.templates import TemplateResolver, TemplateUnusable, read_template

NO_TEMPLATE = "none"


@dataclass(frozen=True, slots=True)
class GivenTemplate:
    """A template as it was when it was read, or none."""

    name: str
    """As the user wrote it; `none` for no template."""
    path: Path | None
    """The file; None without a template."""
    template: Template | None

    @property
    def prompt(self) -> str:
        """The text that the model receives; empty if it receives none."""
        return self.template.prompt if self.template is not None else ""

    @property
    def noise_patterns(self) -> tuple[str, ...]:
        """Patterns whose matches are removed from the texts of the turns."""
        return self.template.noise_patterns if self.template is not None else ()

    @property
    def digest(self) -> str:
        """Digest of the text, as the recipe of a turn has it."""
        return ids.digest(self.prompt)

    def prompts(self, config: ExtractionConfig) -> PromptConfigs:
        """Return the prompts of a run with this template for all turns of all groups.

        Everything else is as configured: reflexion passes and where the instructions stand.
        """
        if self.template is None:
            return PromptConfigs(config.with_prompt(None), _OneTemplate(None))
        name = self.name if self.name.endswith(TEMPLATE_SUFFIX) else f"{self.name}{TEMPLATE_SUFFIX}"
        return PromptConfigs(config.with_prompt(name), _OneTemplate(self.template))


@dataclass(frozen=True, slots=True)
class _OneTemplate:
    """A loader that finds one template under every name."""

    template: Template | None

    def load(self, name: str) -> Template | None:  # noqa: ARG002 - of the protocol
        return self.template


def given_template(given: str, templates: TemplateResolver, folder: Path) -> GivenTemplate:
    """Return the template that a user named.

    Args:
        given: `none`; a path, if it has a separator; else the name of a template, or of a file in
            `folder` if there is no such template.
        templates: finds names.
        folder: to which paths are relative.

    Raises:
        TemplateUnusable: there is no such template or file, or nothing to read in it.
        BadUsage: its front matter is invalid.
    """
    text = given.strip()
    if text.lower() in NO_PROMPT_VALUES:
        return GivenTemplate(NO_TEMPLATE, None, None)
    if not text:
        raise TemplateUnusable("a template has a name or a path; `none` is no template")
    path = Path(text)
    if path.name != text:
        return _read(given, folder / path)
    if (found := templates.find(text)) is not None:
        return GivenTemplate(given, found, templates.read(text))
    if (folder / path).is_file():
        return _read(given, folder / path)
    try:
        return GivenTemplate(given, None, templates.read(text))
    except TemplateUnusable as error:
        raise TemplateUnusable(f"{error}; nor is there such a file in `{folder}`") from None


def _read(given: str, path: Path) -> GivenTemplate:
    return GivenTemplate(given, path, read_template(path))
