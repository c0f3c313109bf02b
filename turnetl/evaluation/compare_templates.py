"""Compare what two templates made of the same turns, and with the facts that a user expects."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from turnetl.base.batched import grouped
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Entity, Fact, Turn, TurnId, Usage
from turnetl.base.result_fields import GroupField, TurnIdField
from turnetl.base.results import INLINED, described
from turnetl.base.user_files import read_tsv
from turnetl.evaluation.question_set import LocatedTurns
from turnetl.evaluation.template_trial import FailedTurn, TrialResult, TrialSide
from turnetl.extraction import stoplist
from turnetl.extraction.catalog import GivenTemplate
from turnetl.extraction.port import DiscardReason
from turnetl.llm.vectors import Matrix
from turnetl.migration.matching import (
    EmbeddedFacts,
    EntityIndex,
    FactStatement,
    best_matches,
    entity_key,
)

_ENTITIES = ("source", "target")
_ROW_NEEDS = (
    "a turn (its id, or the file of its archive, `:` and a line) and a fact, separated by a tab"
)


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A labelled fact."""

    turn_id: Annotated[TurnId, described("The turn of the label.")]
    text: Annotated[str, described("The label.", name="fact")]
    """As a sentence."""
    entities: tuple[str, ...]
    """Names that the extracted fact must be about or name; possibly none."""
    line: Annotated[int, described("Of the label in its file.")]


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A labelled fact, and the most similar fact of its turn."""

    expected: Annotated[ExpectedFact, INLINED]
    is_found: Annotated[bool, described("Whether a fact of the turn says it.", name="found")]
    nearest: Annotated[str, described("The most similar fact of the turn; empty if it has none.")]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Labelled facts and those of a template."""

    checked: Annotated[
        tuple[CheckedFact, ...],
        described("The labels, in the order of the file.", name="labels"),
    ]
    extracted: Annotated[int, described("Facts of the turns with labels.", name="facts")]
    matching: Annotated[int, described("Those of them that a label says.")]
    """A label of their turn."""

    @property
    @described("Share of the labels that were found; null without labels.")
    def recall(self) -> float | None:
        found = sum(one.is_found for one in self.checked)
        return found / len(self.checked) if self.checked else None

    @property
    @described("Share of the facts of turns with labels that a label says; null without facts.")
    def precision(self) -> float | None:
        return self.matching / self.extracted if self.extracted else None


@dataclass(frozen=True, slots=True)
class TrialDates:
    """How facts are dated, compared with their turns."""

    undated: Annotated[int, described("Facts without a `valid_at`.")]
    within: Annotated[
        int, described("Facts dated during their turn, or up to an hour before or after it.")
    ]
    before: Annotated[int, described("Facts dated earlier: by a date that the text names.")]
    after: Annotated[int, described("Facts dated later.")]
    """Rarely right, as a turn tells what happened."""


@dataclass(frozen=True, slots=True)
class DistinctFact:
    """A fact that the other template did not find."""

    text: Annotated[str, described("The fact.")]
    relation: Annotated[str, described("Its relation.")]
    source: Annotated[str, described("Name of the entity that it starts from.")]
    target: Annotated[str, described("Name of the entity that it leads to.")]
    valid_at: Annotated[
        datetime | None, described("Since when it holds, as dated; null if it is not.")
    ]
    turn_id: Annotated[TurnId, described("The first turn that states it.")]
    archive: Annotated[str, described("Archive of that turn.")]
    first_line: Annotated[int, described("First line of that turn in the archive.")]
    nearest: Annotated[
        str, described("The most similar fact of the other template; empty if it has none.")
    ]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]
    shares_entity: Annotated[
        bool, described("Whether the nearest fact names an entity of this one; none does if not.")
    ]


@dataclass(frozen=True, slots=True)
class ComparedTemplate:
    """A template and what it made of the turns."""

    name: Annotated[str, described("As it was given; `none` for no template.")]
    path: Annotated[Path | None, described("Its file; null without a template.")]
    digest: Annotated[str, described("Digest of the text that the model receives.")]
    tokens: Annotated[int, described("Estimated tokens of that text.")]
    """Each extraction request has it."""
    entities: Annotated[int, described("Entities.")]
    facts: Annotated[int, described("Facts.")]
    invalidated: Annotated[int, described("Facts that a later turn contradicted.")]
    dates: Annotated[TrialDates, described("How its facts are dated.")]
    only_facts: Annotated[
        tuple[DistinctFact, ...], described("Facts that the other template did not find.")
    ]
    """In the order of their turns."""
    only_entities: Annotated[
        tuple[str, ...],
        described("Names that neither an entity nor a fact of the other template has, sorted."),
    ]
    discarded: Annotated[
        Mapping[DiscardReason, int],
        described("Extracted names and facts that were discarded, by reason.", keys=DiscardReason),
    ]
    junk: Annotated[
        Mapping[DiscardReason, tuple[str, ...]],
        described(
            "Names of kept entities that the stoplist matches, by reason.", keys=DiscardReason
        ),
    ]
    """Sorted."""
    failed: Annotated[tuple[FailedTurn, ...], described("Turns that cannot be ingested with it.")]
    usage: Annotated[Usage, described("Of the compared turns, whenever it was paid for.")]
    labels: Annotated[LabelScore | None, described("Null without --expect.")]


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """A compared turn."""

    turn_id: TurnIdField
    kind: Annotated[str, described("Its main content.")]
    chars: Annotated[int, described("Characters of its episode.")]
    """As the first template has it rendered."""
    started_at: Annotated[datetime | None, described("When it started; null if it is not known.")]
    archive: Annotated[str, described("Archive of the turn.")]
    first_line: Annotated[int, described("Its first line in the archive.")]


@dataclass(frozen=True, slots=True)
class TemplateComparison:
    """Two templates on the same turns."""

    group: GroupField
    seed: Annotated[int, described("Seed of the sample.")]
    sampled: Annotated[int, described("Turns that were drawn.")]
    candidates: Annotated[int, described("Turns from which the sample was drawn.")]
    turns: Annotated[
        tuple[SampledTurn, ...], described("Turns that both could ingest, oldest first.")
    ]
    templates: Annotated[
        tuple[ComparedTemplate, ComparedTemplate],
        described("Both templates, in the order given."),
    ]
    fact_similarity: Annotated[
        float, described("Cosine from which two facts that share an entity say the same.")
    ]
    unused_labels: Annotated[
        int, described("Labels of turns that are not among the compared ones.")
    ]
    paid: Annotated[
        Mapping[str, Usage],
        described("What this comparison paid, by prompt; the journal had the other responses."),
    ]
    model: Annotated[str, described("Model of both, with its provider.")]
    extractor: Annotated[str, described("Extractor of both.")]
    stopped: Annotated[str | None, described("Why it ended before all turns; null if it did not.")]
    compared_at: Annotated[datetime, described("When they were compared.")]

    @property
    @described("`stopped`: by the budget; `failed`: no turn could be compared.")
    def status(self) -> Literal["complete", "stopped", "failed"]:
        if self.stopped is not None:
            return "stopped"
        return "complete" if self.turns else "failed"

    @property
    def exit_code(self) -> ExitCode:
        """`STOPPED` if the budget ended it, `FAILED` if no turn could be compared."""
        codes = {"stopped": ExitCode.STOPPED, "failed": ExitCode.FAILED}
        return codes.get(self.status, ExitCode.DONE)


_MARGIN = timedelta(hours=1)
"""Before and after a turn, in which a fact is dated by the turn itself."""


@dataclass(frozen=True, slots=True)
class EmbeddedLabels:
    """The labels of the compared turns."""

    expected: tuple[ExpectedFact, ...]
    rows: Matrix


def read_expected(path: Path, turns: LocatedTurns) -> list[ExpectedFact]:
    """Read a table of `turn` and `fact`, separated by tabs.

    `source` and `target` may name entities that the fact must be about.
    """
    expected = []
    for row in read_tsv(path, ("turn", "fact"), _ENTITIES, row_needs=_ROW_NEEDS):
        try:
            turn = turns.find(row.values["turn"])
        except BadUsage as error:
            raise BadUsage(f"`{path}`, line {row.line}: {error}") from error
        names = tuple(name for one in _ENTITIES if (name := row.values[one]))
        expected.append(ExpectedFact(turn.turn_id, row.values["fact"], names, row.line))
    return expected


def compared_templates(
    given: Sequence[GivenTemplate],
    result: TrialResult,
    facts: Sequence[EmbeddedFacts],
    labels: EmbeddedLabels | None,
    *,
    similarity: float,
    estimate_tokens: Callable[[str], int],
) -> list[ComparedTemplate]:
    """Return each template with what it made of the turns, in their order."""
    turns = {episode.turn_id: episode.turn for episode in result.turns}
    compared = []
    for place, (template, side) in enumerate(zip(given, result.sides, strict=True)):
        own, other = facts[place], facts[1 - place]
        compared.append(
            ComparedTemplate(
                name=template.name,
                path=template.path,
                digest=template.digest,
                tokens=estimate_tokens(template.prompt) if template.prompt else 0,
                entities=len(side.entities),
                facts=len(side.facts),
                invalidated=sum(fact.invalid_at is not None for fact in side.facts),
                dates=_dates(side.facts, turns),
                only_facts=tuple(_distinct(side, own, other, turns, similarity)),
                only_entities=_only_names(side, result.sides[1 - place], other.statements),
                discarded=dict(sorted(side.discarded.items())),
                junk=_junk(side.entities),
                failed=tuple(side.failed),
                usage=side.usage,
                labels=None if labels is None else _score(labels, side, own, similarity),
            )
        )
    return compared


def _score(
    labels: EmbeddedLabels, side: TrialSide, facts: EmbeddedFacts, similarity: float
) -> LabelScore:
    """Compare the facts of a template with the labels of the same turns.

    A fact says what a label says if it has the entities of the label, and the texts are similar.
    """
    turns = [fact.turns for fact in side.facts]
    expected, index = labels.expected, EntityIndex(facts.statements)
    cosines = labels.rows @ facts.rows.T if facts.statements else None
    matching: set[int] = set()
    checked = []
    for row, label in enumerate(expected):
        of_turn = [position for position, stated in enumerate(turns) if label.turn_id in stated]
        if cosines is None or not of_turn:
            checked.append(CheckedFact(label, is_found=False, nearest="", similarity=0.0))
            continue
        named = [set(index.sharing([name]).tolist()) for name in label.entities]
        fitting = [position for position in of_turn if all(position in one for one in named)]
        found = [position for position in fitting if cosines[row, position] >= similarity]
        matching.update(found)
        nearest = max(fitting or of_turn, key=lambda position: float(cosines[row, position]))
        cosine = max(0.0, float(cosines[row, nearest]))
        checked.append(
            CheckedFact(label, bool(found), facts.statements[nearest].text, round(cosine, 4))
        )
    labelled = {label.turn_id for label in expected}
    extracted = sum(not labelled.isdisjoint(stated) for stated in turns)
    return LabelScore(tuple(checked), extracted, len(matching))


def _distinct(
    side: TrialSide,
    own: EmbeddedFacts,
    other: EmbeddedFacts,
    turns: Mapping[TurnId, Turn],
    similarity: float,
) -> Iterable[DistinctFact]:
    """Yield the facts of a side that the other one does not express."""
    names = {one.uuid: one.name for one in side.entities}
    matches = best_matches(own, other)
    for fact, match in zip(side.facts, matches, strict=True):
        if match.shares_entity and match.similarity >= similarity:
            continue
        turn = turns[fact.turns[0]]
        yield DistinctFact(
            text=fact.text,
            relation=fact.relation,
            source=names.get(fact.source, ""),
            target=names.get(fact.target, ""),
            valid_at=fact.valid_at,
            turn_id=turn.turn_id,
            archive=turn.archive,
            first_line=turn.first_line,
            nearest="" if match.position is None else other.statements[match.position].text,
            similarity=round(match.similarity, 4),
            shares_entity=match.shares_entity,
        )


def _only_names(
    side: TrialSide, other: TrialSide, others: Sequence[FactStatement]
) -> tuple[str, ...]:
    known, index = {entity_key(one.name) for one in other.entities}, EntityIndex(others)
    names = {one.name for one in side.entities if entity_key(one.name) not in known}
    return tuple(sorted(name for name in names if not index.names(name)))


def _dates(facts: Iterable[Fact], turns: Mapping[TurnId, Turn]) -> TrialDates:
    undated = within = before = after = 0
    for fact in facts:
        turn = turns[fact.turns[0]]
        start, end = turn.started_at, turn.ended_at or turn.started_at
        if fact.valid_at is None or start is None or end is None:
            undated += 1
        elif fact.valid_at < start - _MARGIN:
            before += 1
        elif fact.valid_at > end + _MARGIN:
            after += 1
        else:
            within += 1
    return TrialDates(undated, within, before, after)


def _junk(entities: Sequence[Entity]) -> dict[DiscardReason, tuple[str, ...]]:
    names = sorted({one.name for one in entities})
    reasons = zip(stoplist.reasons(names), names, strict=True)
    found = grouped((reason, name) for reason, name in reasons if reason is not None)
    return {reason: tuple(of_reason) for reason, of_reason in sorted(found.items())}
