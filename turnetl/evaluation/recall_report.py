"""What an evaluation of the search found, and how it compares with an earlier one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, Usage
from turnetl.evaluation.recall import DEPTHS, EvaluatedQuestion, RankingStage


class QuestionSource(StrEnum):
    """Where the questions are from."""

    FILE = "file"
    MODEL = "model"
    BASELINE = "baseline"
    """The questions of an earlier evaluation."""


@dataclass(frozen=True, slots=True)
class StageRecall:
    """The recall of one stage."""

    stage: RankingStage
    questions: int
    """That were measured."""
    found: Mapping[int, int]
    """Questions whose turn is among so many hits, by that number."""

    def at(self, depth: int) -> float | None:
        """Return recall@depth; None without questions."""
        return self.found[depth] / self.questions if self.questions else None


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier evaluation."""

    evaluated_at: datetime
    embedder: str
    questions: tuple[EvaluatedQuestion, ...]


@dataclass(frozen=True, slots=True)
class RankChange:
    """A question whose turn has another rank than in the baseline."""

    question: str
    before: int | None
    after: int | None

    @property
    def is_worse(self) -> bool:
        """Whether the turn is further down, or no longer among the hits."""
        return self.after is None or (self.before is not None and self.after > self.before)


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The recall of each stage on the user's own turns."""

    questions: tuple[EvaluatedQuestion, ...]
    stages: tuple[RankingStage, ...]
    """That were measured."""
    source: QuestionSource
    turns: int
    """Turns that were searched."""
    turns_with_questions: int
    """Turns of the index to which `turnetl index --questions` added questions."""
    without_question: int
    """Sampled turns about which the model could think of no question."""
    failed: int
    """Sampled turns whose response was not valid."""
    embedder: str
    model: str | None
    """That wrote the questions or reranked; None if none was used."""
    usage: Usage
    """Of this evaluation, without responses from the journal."""
    stopped: str | None
    """Why it ended before all questions; None if it did not."""
    baseline: Baseline | None
    evaluated_at: datetime
    caught_up_at: datetime | None = None
    """When the index last held the whole graph; None if it never did."""
    unread: str | None = None
    """Why the graph could not be read, so that its newest turns may be missing; None if it was."""

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """The groups with questions, sorted."""
        return tuple(sorted({one.question.group_id for one in self.questions}))

    @property
    def exit_code(self) -> ExitCode:
        """`STOPPED` if the budget ended it."""
        return ExitCode.DONE if self.stopped is None else ExitCode.STOPPED

    def recall(self, stage: RankingStage, group: GroupId | None = None) -> StageRecall:
        """Return the recall of a stage; of one group, or of all."""
        chosen = (one for one in self.questions if group in (None, one.question.group_id))
        return stage_recall(stage, chosen)

    @property
    def compared(self) -> tuple[tuple[EvaluatedQuestion, EvaluatedQuestion], ...]:
        """The questions of both evaluations: as they were, and as they are."""
        if self.baseline is None:
            return ()
        before = {one.question.text: one for one in self.baseline.questions}
        return tuple(
            (before[one.question.text], one)
            for one in self.questions
            if one.question.text in before
        )

    def baseline_recall(self, stage: RankingStage) -> tuple[StageRecall, StageRecall]:
        """Return the recall of a stage on the questions of both: before and now."""
        pairs = [pair for pair in self.compared if all(stage in one.ranks for one in pair)]
        before, after = ([pair[side] for pair in pairs] for side in (0, 1))
        return stage_recall(stage, before), stage_recall(stage, after)

    def changes(self, stage: RankingStage) -> tuple[RankChange, ...]:
        """Return the questions whose turn has another rank after a stage; worse ones first."""
        changed = [
            RankChange(after.question.text, before.ranks[stage], after.ranks[stage])
            for before, after in self.compared
            if stage in before.ranks
            and stage in after.ranks
            and before.ranks[stage] != after.ranks[stage]
        ]
        return tuple(sorted(changed, key=lambda one: not one.is_worse))


def stage_recall(stage: RankingStage, questions: Iterable[EvaluatedQuestion]) -> StageRecall:
    """Return the recall of a stage on those questions for which it was measured."""
    ranks = [one.ranks[stage] for one in questions if stage in one.ranks]
    found = {depth: sum(rank is not None and rank <= depth for rank in ranks) for depth in DEPTHS}
    return StageRecall(stage, len(ranks), found)
