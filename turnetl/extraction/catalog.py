"""The catalog of templates and ontologies: the effective file, its cost, its diagnostics."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from turnetl.base import ids
from turnetl.base.batched import grouped
from turnetl.base.errors import BadUsage
from turnetl.base.results import described
from turnetl.extraction.config import (
    NO_PROMPT_VALUES,
    TEMPLATE_SUFFIX,
    ExtractionConfig,
    PromptConfigs,
    PromptSetting,
    Template,
    parse_template,
    prompt_warning,
)
from turnetl.extraction.ontology import (
    ONTOLOGY_FOLDER,
    Diagnostic,
    Ontology,
    error_diagnostic,
    lint_ontology,
    warning_diagnostic,
)
from turnetl.extraction.templates import (
    EMPTY_TEMPLATE,
    TemplateResolver,
    TemplateUnusable,
    read_template,
)

TokenEstimate = Callable[[str], int]
"""Estimates the tokens of a text."""


class TemplateSource(StrEnum):
    """Where a template or an ontology is from."""

    PROJECT = "project"
    HOME = "home"
    BUILT_IN = "built-in"
    CONFIG = "config"
    PATH = "path"


LONG_PROMPT = 700
"""Tokens of instructions above which there is a warning."""

_ONTOLOGY_PREFIX = f"{ONTOLOGY_FOLDER}/"
_ONTOLOGY_SUFFIX = ".toml"
_EXTRACTION_PROMPTS = 2
"""Extraction prompts of a turn, for entities and for facts: both carry the instructions."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A template, an ontology, or instructions in the config file."""

    name: Annotated[str, described("Its name, as the config file takes it.")]
    """An ontology with its folder; instructions in a config `inline 1`."""
    path: Annotated[Path | None, described("The file that is used; null if there is no file.")]
    source: Annotated[
        TemplateSource | None,
        described("Where it is from; `path` if a setting names its path; null if nowhere."),
    ]
    overrides: Annotated[
        tuple[Path, ...], described("Files of the same name that are not used because of it.")
    ]
    prompt_text: Annotated[
        str, described("The text that the model receives; empty if none.", name="text")
    ]
    digest: Annotated[
        str, described("Digest of `text`; another digest makes committed turns stale.")
    ]
    tokens_per_request: Annotated[
        int, described("Estimated tokens that it adds to the longest request.")
    ]
    tokens_per_turn: Annotated[int, described("Estimated tokens that it adds to a turn.")]
    """To one of one chunk; each reflexion pass costs the same again."""
    used_for: Annotated[tuple[str, ...], described("The turns that it is used for.")]
    diagnostics: Annotated[tuple[Diagnostic, ...], described("Its diagnostics.")]

    @property
    def is_broken(self) -> bool:
        """Whether the file is not used as intended."""
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


@dataclass(frozen=True, slots=True)
class TemplateCatalog:
    """Templates and ontologies."""

    templates: Annotated[tuple[CatalogEntry, ...], described("The templates and ontologies.")]


@dataclass(frozen=True, slots=True)
class _PromptContent:
    text: str = ""
    digest: str = ""
    tokens: tuple[int, ...] = (0,)
    """Per extraction prompt."""
    diagnostics: tuple[Diagnostic, ...] = ()


def _broken(problem: str) -> _PromptContent:
    return _PromptContent(diagnostics=(error_diagnostic(problem),))


def catalog(
    config: ExtractionConfig, templates: TemplateResolver, estimate: TokenEstimate
) -> tuple[CatalogEntry, ...]:
    """Return an entry for each template and ontology in the config and in the folders.

    Instructions in the config come first, then templates, then ontologies.
    """
    ontologies = templates.subfolder(ONTOLOGY_FOLDER)
    ontology = _ontology(config, ontologies)
    read_as_template = partial(
        _template_content, templates=templates, ontology=ontology, estimate=estimate
    )
    read_as_ontology = partial(_ontology_content, ontologies=ontologies, estimate=estimate)
    template_names = sorted({*templates.names(TEMPLATE_SUFFIX), *_template_names(config)})
    configured = [config.ontology] if config.ontology else []
    ontology_names = sorted({*ontologies.names(_ONTOLOGY_SUFFIX), *configured})
    return (
        *_inline_entries(config, estimate, ontology),
        *(_entry(name, name, config, templates, read_as_template) for name in template_names),
        *(
            _entry(_ONTOLOGY_PREFIX + name, name, config, ontologies, read_as_ontology)
            for name in ontology_names
        ),
    )


def select(
    entries: Sequence[CatalogEntry], names: Sequence[str], templates: TemplateResolver
) -> tuple[CatalogEntry, ...]:
    """Return the entries with these names, or all if `names` is empty."""
    by_name = {entry.name: entry for entry in entries}
    selected = []
    for name in names:
        entry = by_name.get(name) or by_name.get(_ONTOLOGY_PREFIX + name)
        if entry is None:
            raise BadUsage(templates.missing("template", name, f"; there are {', '.join(by_name)}"))
        selected.append(entry)
    return tuple(selected or ([] if names else entries))


def _entry(
    name: str,
    file_name: str,
    config: ExtractionConfig,
    templates: TemplateResolver,
    read: Callable[[Path], _PromptContent],
) -> CatalogEntry:
    paths = templates.find_all(file_name)
    content = read(paths[0]) if paths else _broken(templates.missing("file", file_name))
    source = _source(paths[0], templates) if paths else None
    entry = _entry_of(name, content, source, _used_for(name, config))
    diagnostics = (*content.diagnostics, *_identical_copy(paths, templates))
    path = paths[0] if paths else None
    return replace(entry, path=path, overrides=paths[1:], diagnostics=diagnostics)


def _entry_of(
    name: str, content: _PromptContent, source: TemplateSource | None, used_for: Iterable[str]
) -> CatalogEntry:
    return CatalogEntry(
        name=name,
        path=None,
        source=source,
        overrides=(),
        prompt_text=content.text,
        digest=content.digest if content.text else "",
        tokens_per_request=max(content.tokens),
        tokens_per_turn=sum(content.tokens),
        used_for=tuple(used_for),
        diagnostics=content.diagnostics,
    )


def _inline_entries(
    config: ExtractionConfig, estimate: TokenEstimate, ontology: Ontology
) -> Iterator[CatalogEntry]:
    """Yield the instructions written in the config itself, each once."""
    uses = grouped(
        (setting, turns)
        for setting, turns in _uses(config)
        if isinstance(setting, str) and setting and not setting.endswith(TEMPLATE_SUFFIX)
    )
    for number, (text, used_for) in enumerate(uses.items(), 1):
        tokens, problem = estimate(text), prompt_warning(text)
        diagnostics = (
            (warning_diagnostic(problem),) if problem else tuple(_lint(text, tokens, ontology))
        )
        content = _content(text, tokens, diagnostics)
        yield _entry_of(f"inline {number}", content, TemplateSource.CONFIG, used_for)


def _content(text: str, tokens: int, diagnostics: tuple[Diagnostic, ...]) -> _PromptContent:
    return _PromptContent(text, ids.digest(text), (tokens,) * _EXTRACTION_PROMPTS, diagnostics)


def _template_content(
    path: Path, templates: TemplateResolver, ontology: Ontology, estimate: TokenEstimate
) -> _PromptContent:
    text, problem = templates.read_text(path)
    if text is None:
        return _broken(problem or "")
    try:
        template, unknown_keys = parse_template(text, path.stem)
    except BadUsage as invalid:
        return _broken(str(invalid))
    unknown = [warning_diagnostic(unknown_keys)] if unknown_keys else []
    prompt = template.prompt
    if not (prompt or template.noise_patterns):
        return _PromptContent(diagnostics=(error_diagnostic(EMPTY_TEMPLATE), *unknown))
    tokens = estimate(prompt)
    return _content(prompt, tokens, (*unknown, *_lint(prompt, tokens, ontology)))


def _ontology_content(
    path: Path, ontologies: TemplateResolver, estimate: TokenEstimate
) -> _PromptContent:
    text, problem = ontologies.read_text(path)
    if text is None:
        return _broken(problem or "")
    parsed = lint_ontology(text)
    if any(diagnostic.severity == "error" for diagnostic in parsed.diagnostics):
        return _PromptContent(diagnostics=parsed.diagnostics)
    ontology = parsed.ontology
    prompt = "\n\n".join(text for text in ontology.prompt_texts if text)
    tokens = tuple(estimate(text) for text in ontology.prompt_texts)
    return _PromptContent(prompt, ontology.digest, tokens, parsed.diagnostics)


def _lint(prompt: str, tokens: int, ontology: Ontology) -> Iterator[Diagnostic]:
    if not prompt:
        yield warning_diagnostic(
            "has no instructions: it only removes text that its noise patterns match"
        )
        return
    if tokens > LONG_PROMPT:
        yield warning_diagnostic(
            f"has about {tokens:,} tokens, which are paid {_EXTRACTION_PROMPTS} times a turn; "
            f"{LONG_PROMPT} are usually enough"
        )
    if ontology.entities and not any(name in prompt for name in ontology.entities):
        yield warning_diagnostic(
            f"names no entity type of the ontology: {', '.join(ontology.entities)}"
        )


def _identical_copy(paths: Sequence[Path], templates: TemplateResolver) -> Iterator[Diagnostic]:
    if len(paths) > 1 and templates.read_text(paths[0]) == templates.read_text(paths[1]):
        yield warning_diagnostic(f"is identical to `{paths[1]}`, and hides later corrections there")


def _source(path: Path, templates: TemplateResolver) -> TemplateSource:
    # From the last one: the first one is missing if the project is not trusted.
    by_folder = (TemplateSource.BUILT_IN, TemplateSource.HOME, TemplateSource.PROJECT)
    sources = dict(reversed(list(zip(reversed(templates.folders), by_folder, strict=False))))
    return sources.get(path.parent, TemplateSource.PATH)


def _ontology(config: ExtractionConfig, ontologies: TemplateResolver) -> Ontology:
    """Return the ontology of the config; an empty one if it is invalid."""
    path = ontologies.find(config.ontology) if config.ontology else None
    text = ontologies.read_text(path)[0] if path is not None else None
    return lint_ontology(text or "").ontology


def _template_names(config: ExtractionConfig) -> Iterator[str]:
    for setting, _ in _uses(config):
        if isinstance(setting, str) and setting.endswith(TEMPLATE_SUFFIX):
            yield setting


def _used_for(name: str, config: ExtractionConfig) -> Iterator[str]:
    if name.startswith(_ONTOLOGY_PREFIX):
        if config.ontology == name.removeprefix(_ONTOLOGY_PREFIX):
            yield "all turns"
        return
    for setting, turns in _uses(config):
        if setting == name:
            yield turns


def _uses(config: ExtractionConfig) -> Iterator[tuple[PromptSetting, str]]:
    """Yield each prompt setting of the config with a description of its turns."""
    specific = tuple(_specific_prompts(config))
    yield config.preprocessing_prompt, "all other turns" if specific else "all turns"
    yield from specific


def _specific_prompts(config: ExtractionConfig) -> Iterator[tuple[PromptSetting, str]]:
    for kind, setting in config.kinds.items():
        yield setting, f"{kind} turns"
    for name, group in config.groups.items():
        if "preprocessing_prompt" in group.model_fields_set:
            yield group.preprocessing_prompt, f"{'other ' if group.kinds else ''}turns of {name}"
        for kind, setting in group.kinds.items():
            yield setting, f"{kind} turns of {name}"


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
        return self.template.noise_patterns if self.template is not None else ()

    @property
    def digest(self) -> str:
        """Digest of the text, as the recipe of a turn has it."""
        return ids.digest(self.prompt)

    def prompts(self, config: ExtractionConfig) -> PromptConfigs:
        """Return the prompts of a run with this template for all turns."""
        if self.template is None:
            return PromptConfigs(config.with_prompt(None), _OneTemplate(None))
        name = self.name if self.name.endswith(TEMPLATE_SUFFIX) else f"{self.name}{TEMPLATE_SUFFIX}"
        return PromptConfigs(config.with_prompt(name), _OneTemplate(self.template))


@dataclass(frozen=True, slots=True)
class _OneTemplate:
    template: Template | None

    def load(self, name: str) -> Template | None:  # noqa: ARG002 - of the protocol
        return self.template


def given_template(given: str, templates: TemplateResolver, folder: Path) -> GivenTemplate:
    """Return the template that a user named for a comparison.

    It is `none`, a path, if it has a separator, or the name of a template, or else of a file in
    `folder`.
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
    raise templates.not_found(text, f"; nor is there such a file in `{folder}`")


def _read(given: str, path: Path) -> GivenTemplate:
    return GivenTemplate(given, path, read_template(path))
