"""What a comparison of two templates found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import TurnId, Usage
from turnetl.base.result_fields import GroupField, TurnIdField
from turnetl.base.results import described
from turnetl.evaluation.expected_facts import LabelScore
from turnetl.evaluation.template_trial import FailedTurn
from turnetl.extraction.discard_reasons import DiscardReason


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
    def status(
        self,
    ) -> Annotated[
        Literal["complete", "stopped", "failed"],
        described("`stopped`: by the budget; `failed`: no turn could be compared."),
    ]:
        if self.stopped is not None:
            return "stopped"
        return "complete" if self.turns else "failed"

    @property
    def exit_code(self) -> ExitCode:
        """`STOPPED` if the budget ended it, `FAILED` if no turn could be compared."""
        codes = {"stopped": ExitCode.STOPPED, "failed": ExitCode.FAILED}
        return codes.get(self.status, ExitCode.DONE)
