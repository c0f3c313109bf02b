"""Every template and ontology that can be found: which file wins, what it costs, what is wrong."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.extraction import ontology_lint, preprocessor
from turnetl.extraction.config import TEMPLATE_ENDING, ExtractionConfig, Said, slip
from turnetl.extraction.diagnostics import Diagnostic, error, warning
from turnetl.extraction.ontology import FOLDER, Ontology
from turnetl.extraction.templates import SAYS_NOTHING, TemplateResolver, text_of

Estimate = Callable[[str], int]
"""Tokens of a text."""

PLACES = ("project", "home", "built-in")
"""What the folders of `templates.folders` are, in order."""
LONG = 700
"""Tokens of instructions; more are told of."""

_ONTOLOGIES = f"{FOLDER}/"
_ENDING = ".toml"
_PROMPTS = 2
"""Extraction prompts of a turn, for entities and for facts: instructions stand in both."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A template or an ontology, by its name."""

    name: str
    """As a config has it; of an ontology with its folder before it; of what has none `inline 1`."""
    path: Path | None
    """The file that wins; None if there is none."""
    place: str
    """Where that is: a word of `PLACES`, or `config`; empty if nowhere."""
    hides: tuple[Path, ...]
    """Files of the same name that do not count."""
    told: str
    """The very text that a model gets; empty if it gets none."""
    digest: str
    """Of that text; another one makes committed turns stale."""
    tokens_a_call: int
    """Of the longer call."""
    tokens_a_turn: int
    """Of a turn of one part, read once; each pass of reflexion costs as much again."""
    used_for: tuple[str, ...]
    """Which turns, as the config says."""
    findings: tuple[Diagnostic, ...]

    @property
    def is_broken(self) -> bool:
        """Whether it is not used as it was meant."""
        return any(finding.grade == "error" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class _Told:
    """What a file says to a model."""

    text: str = ""
    digest: str = ""
    tokens: tuple[int, ...] = (0,)
    """Of each extraction prompt."""
    findings: tuple[Diagnostic, ...] = ()


def catalog(
    config: ExtractionConfig, templates: TemplateResolver, estimate: Estimate
) -> tuple[CatalogEntry, ...]:
    """Return all that the config says or names and all that lies in the folders.

    First instructions in the config itself, then templates, then ontologies.

    Args:
        config: says what is used, and for which turns.
        templates: finds them.
        estimate: says how many tokens a text has.
    """
    ontologies = templates.beside(FOLDER)
    kinds = _ontology(config, ontologies)
    of_template = partial(_template, kinds=kinds, estimate=estimate)
    of_ontology = partial(_of_ontology, estimate=estimate)
    names = sorted({*templates.names(TEMPLATE_ENDING), *_named(config)})
    known = sorted({*ontologies.names(_ENDING), *([config.ontology] if config.ontology else [])})
    return (
        *_inline(config, estimate, kinds),
        *(_entry(name, name, config, templates, of_template) for name in names),
        *(_entry(_ONTOLOGIES + name, name, config, ontologies, of_ontology) for name in known),
    )


def chosen(entries: Sequence[CatalogEntry], names: Sequence[str]) -> tuple[CatalogEntry, ...]:
    """Return the entries of these names, of all if none is named.

    Raises:
        BadUsage: nothing has such a name; says which there are.
    """
    by_name = {entry.name: entry for entry in entries}
    found = []
    for name in names:
        entry = by_name.get(name) or by_name.get(_ONTOLOGIES + name)
        if entry is None:
            raise BadUsage(f"there is no template `{name}`; there are {', '.join(by_name)}")
        found.append(entry)
    return tuple(found or ([] if names else entries))


def _entry(
    name: str,
    file: str,
    config: ExtractionConfig,
    templates: TemplateResolver,
    read: Callable[[Path], _Told],
) -> CatalogEntry:
    paths = templates.found(file)
    missing = _Told(findings=(error(f"is in none of {templates.places}"),))
    told = read(paths[0]) if paths else missing
    return CatalogEntry(
        name=name,
        path=paths[0] if paths else None,
        place=_place(paths[0], templates) if paths else "",
        hides=paths[1:],
        told=told.text,
        digest=told.digest if told.text else "",
        tokens_a_call=max(told.tokens),
        tokens_a_turn=sum(told.tokens),
        used_for=tuple(_used_for(name, config)),
        findings=(*told.findings, *_same(paths)),
    )


def _inline(
    config: ExtractionConfig, estimate: Estimate, kinds: Ontology
) -> Iterator[CatalogEntry]:
    """Yield the instructions that stand in the config itself, each once."""
    uses: dict[str, list[str]] = {}
    for said, turns in _uses(config):
        if isinstance(said, str) and said and not said.endswith(TEMPLATE_ENDING):
            uses.setdefault(said, []).append(turns)
    for number, (said, turns_of) in enumerate(uses.items(), 1):
        tokens, wrong = estimate(said), slip(said)
        yield CatalogEntry(
            name=f"inline {number}",
            path=None,
            place="config",
            hides=(),
            told=said,
            digest=ids.digest(said),
            tokens_a_call=tokens,
            tokens_a_turn=tokens * _PROMPTS,
            used_for=tuple(turns_of),
            findings=(warning(wrong),) if wrong else tuple(_of_text(said, tokens, kinds)),
        )


def _template(path: Path, kinds: Ontology, estimate: Estimate) -> _Told:
    text, wrong = text_of(path)
    if text is None:
        return _Told(findings=(error(wrong or ""),))
    try:
        found, unknown = preprocessor.parsed(text, path.stem)
    except BadUsage as refused:
        return _Told(findings=(error(str(refused)),))
    strange = [warning(unknown)] if unknown else []
    told = found.prompt
    if not (told or found.noise_patterns):
        return _Told(findings=(error(SAYS_NOTHING), *strange))
    tokens = estimate(told)
    findings = (*strange, *_of_text(told, tokens, kinds))
    return _Told(told, ids.digest(told), (tokens,) * _PROMPTS, findings)


def _of_ontology(path: Path, estimate: Estimate) -> _Told:
    text, wrong = text_of(path)
    if text is None:
        return _Told(findings=(error(wrong or ""),))
    said = ontology_lint.read(text)
    if any(finding.grade == "error" for finding in said.findings):
        return _Told(findings=said.findings)
    kinds = Ontology(said.things, said.facts, said.fields)
    told = "\n\n".join(part for part in kinds.told if part)
    tokens = tuple(estimate(part) for part in kinds.told)
    return _Told(told, kinds.digest, tokens, said.findings)


def _of_text(told: str, tokens: int, kinds: Ontology) -> Iterator[Diagnostic]:
    if not told:
        yield warning("tells the model nothing: it only leaves something out")
        return
    if tokens > LONG:
        paid = f"{tokens:,} tokens, and they are paid {_PROMPTS} times a turn"
        yield warning(f"has some {paid}; {LONG} are enough for most")
    if kinds.things and not any(name in told for name in kinds.things):
        yield warning(f"names no kind of thing that the ontology knows: {', '.join(kinds.things)}")


def _same(paths: Sequence[Path]) -> Iterator[Diagnostic]:
    if len(paths) > 1 and text_of(paths[0]) == text_of(paths[1]):
        yield warning(f"is the same as `{paths[1]}`, and hides what may be mended there")


def _place(path: Path, templates: TemplateResolver) -> str:
    places = dict(zip(templates.folders, PLACES, strict=False))
    return places.get(path.parent, str(path.parent))


def _ontology(config: ExtractionConfig, ontologies: TemplateResolver) -> Ontology:
    """Return the ontology of the config; of one that cannot be used, none."""
    path = ontologies.find(config.ontology) if config.ontology else None
    text = text_of(path)[0] if path is not None else None
    said = ontology_lint.read(text or "")
    return Ontology(said.things, said.facts)


def _named(config: ExtractionConfig) -> Iterator[str]:
    for said, _ in _uses(config):
        if isinstance(said, str) and said.endswith(TEMPLATE_ENDING):
            yield said


def _used_for(name: str, config: ExtractionConfig) -> Iterator[str]:
    if name.startswith(_ONTOLOGIES):
        if config.ontology == name.removeprefix(_ONTOLOGIES):
            yield "all turns"
        return
    for said, turns in _uses(config):
        if said == name:
            yield turns


def _uses(config: ExtractionConfig) -> Iterator[tuple[Said, str]]:
    """Yield what is said, and of which turns."""
    special = tuple(_special(config))
    yield config.preprocessing_prompt, "all other turns" if special else "all turns"
    yield from special


def _special(config: ExtractionConfig) -> Iterator[tuple[Said, str]]:
    for kind, said in config.kinds.items():
        yield said, f"{kind} turns"
    for name, group in config.groups.items():
        if "preprocessing_prompt" in group.model_fields_set:
            yield group.preprocessing_prompt, f"{'other ' if group.kinds else ''}turns of {name}"
        for kind, said in group.kinds.items():
            yield said, f"{kind} turns of {name}"
