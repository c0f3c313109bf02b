"""What a comparison of two templates found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.evaluation.expected_facts import LabelScore
from turnetl.evaluation.template_trial import FailedTurn
from turnetl.extraction.discard_reasons import DiscardReason


@dataclass(frozen=True, slots=True)
class TrialDates:
    """How the facts of a template are dated, compared with their turns."""

    undated: int
    within: int
    """During their turn, or up to an hour before or after it."""
    before: int
    """Earlier: a date that the text names."""
    after: int
    """Later: rarely right, as a turn tells what happened."""


@dataclass(frozen=True, slots=True)
class DistinctFact:
    """A fact that the other template did not find."""

    text: str
    relation: str
    source: str
    """Name of an entity."""
    target: str
    """Name of an entity."""
    valid_at: datetime | None
    turn_id: TurnId
    """The first turn that states it."""
    archive: str
    first_line: int
    """Of that turn."""
    nearest: str
    """The most similar fact of the other template; empty if it has none."""
    similarity: float
    """Of the two texts, from 0 to 1."""
    shares_entity: bool
    """Whether the nearest fact names an entity of this one; none does otherwise."""


@dataclass(frozen=True, slots=True)
class ComparedTemplate:
    """One template and what it made of the turns."""

    name: str
    path: Path | None
    digest: str
    """Of the text that the model receives."""
    tokens: int
    """Estimated, of that text: each extraction request has it."""
    entities: int
    facts: int
    invalidated: int
    """Facts among them that a later turn contradicted."""
    dates: TrialDates
    only_facts: tuple[DistinctFact, ...]
    """Facts that the other template did not find, in the order of their turns."""
    only_entities: tuple[str, ...]
    """Names that neither an entity nor a fact of the other template has, sorted."""
    discarded: Mapping[DiscardReason, int]
    """Names and facts that were extracted and discarded, by reason."""
    junk: Mapping[DiscardReason, tuple[str, ...]]
    """Names of kept entities that the stoplist matches, sorted, by reason."""
    failed: tuple[FailedTurn, ...]
    usage: Usage
    """Of the compared turns, whenever it was paid for."""
    labels: LabelScore | None
    """None without labels."""


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """A turn that both templates could ingest."""

    turn_id: TurnId
    kind: str
    chars: int
    """Of its episode, as the first template has it rendered."""
    started_at: datetime | None
    archive: str
    first_line: int


@dataclass(frozen=True, slots=True)
class TemplateComparison:
    """Two templates on the same turns."""

    group: GroupId
    seed: int
    sampled: int
    """Turns that were chosen."""
    candidates: int
    """Turns from which they were."""
    turns: tuple[SampledTurn, ...]
    """The compared ones, oldest first."""
    templates: tuple[ComparedTemplate, ComparedTemplate]
    fact_similarity: float
    """Cosine from which two facts say the same, if they share an entity."""
    unused_labels: int
    """Labels of turns that are not among the compared ones."""
    paid: Mapping[str, Usage]
    """By prompt: of the requests that this comparison sent. The journal had the other responses."""
    model: str
    extractor: str
    stopped: str | None
    """Why the comparison ended before all turns; None if it did not."""
    compared_at: datetime

    @property
    def exit_code(self) -> ExitCode:
        """`STOPPED` if the budget ended it, `FAILED` if no turn could be compared."""
        if self.stopped is not None:
            return ExitCode.STOPPED
        return ExitCode.DONE if self.turns else ExitCode.FAILED
