"""Where each stage of the search has the turns that answer a question, and had them before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from turnetl.base.errors import BadUsage, RunStopped
from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.result_fields import CaughtUpAtField, UnreadField
from turnetl.base.result_schema import encoded_type
from turnetl.base.results import INLINED, described
from turnetl.evaluation.question_set import EvaluationQuestion
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.retrieval.query import Thesaurus
from turnetl.retrieval.ranking import WEIGHTS, Evidence
from turnetl.retrieval.search import search

DEPTHS = (1, 5, 10)
"""Hits among which the right turn is looked for."""


class RankingStage(StrEnum):
    """A stage of the search, each with the evidence of those before it but for `DENSE`."""

    LEXICAL = "lexical"
    """The words of the query in text, prompt, facts and passages: BM25."""
    DENSE = "dense"
    """The similarity of passages alone."""
    FUSION = "fusion"
    """The weighted sum of words and similarity."""
    LATE_INTERACTION = "late_interaction"
    """With the similarity of single words."""
    SEARCH = "search"
    """With the turn before: the order of `turnetl search`."""
    RERANKING = "reranking"
    """The order of `turnetl search --rerank`."""


_LEXICAL = (
    Evidence.TEXT_TERMS,
    Evidence.PROMPT_TERMS,
    Evidence.FACT_TERMS,
    Evidence.PASSAGE_TERMS,
)
_FUSION = (*_LEXICAL, Evidence.SIMILARITY)
EVIDENCE: Mapping[RankingStage, tuple[Evidence, ...]] = {
    RankingStage.LEXICAL: _LEXICAL,
    RankingStage.DENSE: (Evidence.SIMILARITY,),
    RankingStage.FUSION: _FUSION,
    RankingStage.LATE_INTERACTION: (*_FUSION, Evidence.LATE_INTERACTION),
    RankingStage.SEARCH: tuple(WEIGHTS),
    RankingStage.RERANKING: tuple(WEIGHTS),
}
"""What each stage ranks by, in the order of the stages."""


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """A question, and where its turn is found."""

    question: Annotated[EvaluationQuestion, INLINED]
    ranks: Annotated[
        Mapping[RankingStage, int | None],
        described("By stage: rank of the turn, from 1; null beyond the tenth hit."),
    ]
    """In the order of the stages. A stage that was not measured is missing."""
    has_hits: Annotated[
        bool, described("Whether `turnetl search` has hits: none is close to the question if not.")
    ]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches an index as `turnetl search` does."""

    index: PersistentIndex
    embedder: Embedder
    now: datetime | None = None
    """The current time, in the zone of the times that questions name; None: these are words."""
    selection: Selection = field(default_factory=Selection)
    model: ChatModel | None = None
    """Reranks; None: that stage is not measured."""
    thesaurus: Thesaurus = field(default_factory=Thesaurus)

    @property
    def stages(self) -> tuple[RankingStage, ...]:
        return tuple(
            stage
            for stage in RankingStage
            if stage is not RankingStage.RERANKING or self.model is not None
        )

    async def evaluated(self, question: EvaluationQuestion) -> EvaluatedQuestion:
        """Return the rank of the right turn after each stage but reranking."""
        stages = [stage for stage in self.stages if stage is not RankingStage.RERANKING]
        ranks: dict[RankingStage, int | None] = {
            stage: rank_of(question.turns, await self.found(question.text, stage))
            for stage in stages
        }
        shown = await search(
            self.index,
            question.text,
            self.embedder,
            now=self.now,
            selection=self.selection,
            limit=DEPTHS[-1],
            thesaurus=self.thesaurus,
        )
        return EvaluatedQuestion(question, ranks, has_hits=bool(shown.hits))

    async def reranked(self, evaluated: EvaluatedQuestion) -> EvaluatedQuestion:
        """Return the same with the rank after reranking."""
        question = evaluated.question
        found = await self.found(question.text, RankingStage.RERANKING)
        ranks = {**evaluated.ranks, RankingStage.RERANKING: rank_of(question.turns, found)}
        return EvaluatedQuestion(question, ranks, evaluated.has_hits)

    async def found(self, text: str, stage: RankingStage) -> list[TurnId]:
        """Return the first ten turns after a stage, also if none is close to the question."""
        found = await search(
            self.index,
            text,
            self.embedder,
            now=self.now,
            selection=self.selection,
            limit=DEPTHS[-1],
            nearest=True,
            weights={kind: WEIGHTS[kind] for kind in EVIDENCE[stage]},
            thesaurus=self.thesaurus,
            model=self.model if stage is RankingStage.RERANKING else None,
        )
        return [hit.turn_id for hit in found.hits]


async def rerank_all(
    searcher: Searcher, evaluated: Sequence[EvaluatedQuestion]
) -> tuple[list[EvaluatedQuestion], RunStopped | None]:
    """Return the questions with their ranks after reranking, and the error if the budget ended."""
    reranked = list(evaluated)
    for place, one in enumerate(evaluated):
        try:
            reranked[place] = await searcher.reranked(one)
        except RunStopped as error:
            return reranked, error
    return reranked, None


def rank_of(right: Sequence[TurnId], found: Sequence[TurnId]) -> int | None:
    """Return the rank of the first right turn, from 1; None if none was found."""
    ranks = (rank for rank, turn in enumerate(found, 1) if turn in right)
    return next(ranks, None)


class QuestionSource(StrEnum):
    """Where the questions are from."""

    FILE = "file"
    MODEL = "model"
    BASELINE = "baseline"
    """The questions of an earlier evaluation."""


@dataclass(frozen=True, slots=True)
class StageRecall:
    """The recall of a stage."""

    stage: Annotated[RankingStage, described("The stage.")]
    questions: Annotated[int, described("Questions that were measured.")]
    found: Mapping[int, int]
    """Questions whose turn is among the first `k` hits, by `k`."""

    @property
    @described("Share with the right turn first; null without questions.", digits=4)
    def recall_at_1(self) -> float | None:
        return self.at(1)

    @property
    @described("The same among the first five hits.", digits=4)
    def recall_at_5(self) -> float | None:
        return self.at(5)

    @property
    @described("The same among the first ten hits.", digits=4)
    def recall_at_10(self) -> float | None:
        return self.at(10)

    def at(self, depth: int) -> float | None:
        return self.found[depth] / self.questions if self.questions else None


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier evaluation."""

    evaluated_at: datetime
    """When it was made."""
    embedder: str
    """Embedder of the index then."""
    questions: tuple[EvaluatedQuestion, ...]
    """Its questions, with their ranks then."""


@dataclass(frozen=True, slots=True)
class RankChange:
    """A question whose turn has another rank than in the baseline."""

    question: Annotated[str, described("The question.")]
    before: Annotated[int | None, described("Rank in the baseline; null beyond the tenth hit.")]
    after: Annotated[int | None, described("Rank now.")]

    @property
    def is_worse(self) -> bool:
        """Whether the turn is further down, or no longer among the hits."""
        return self.after is None or (self.before is not None and self.after > self.before)


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """The comparison with an earlier evaluation."""

    evaluated_at: Annotated[datetime, described("When it was made.")]
    embedder: Annotated[str, described("Its embedder.")]
    questions: Annotated[int, described("Questions that both have.")]
    before: Annotated[
        tuple[StageRecall, ...], described("Its recall on these questions, by stage.")
    ]
    after: Annotated[tuple[StageRecall, ...], described("The recall on them now.")]
    changes: Annotated[
        tuple[RankChange, ...],
        described("Questions whose turn has another rank in `turnetl search`, worse ones first."),
    ]


@dataclass(frozen=True, slots=True)
class GroupRecall:
    """The recall on the questions of a project."""

    group: Annotated[GroupId, described("The group.")]
    stages: Annotated[tuple[StageRecall, ...], described("The stages, in their order.")]


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The recall of the search on the user's own turns.

    `recall(stage, group=None)` returns a `StageRecall`, `baseline_recall(stage)` those before and
    now, and `changes(stage)` the questions with another rank.
    """

    questions: Annotated[tuple[EvaluatedQuestion, ...], described("All questions.")]
    stages: tuple[RankingStage, ...]
    """That were measured."""
    source: Annotated[QuestionSource, described("Where the questions are from.")]
    turns: Annotated[int, described("Turns that were searched.")]
    turns_with_questions: Annotated[
        int, described("Turns of the index to which a model added questions.")
    ]
    without_question: Annotated[
        int, described("Sampled turns about which the model could think of no question.")
    ]
    failed: Annotated[int, described("Sampled turns whose response was not valid.")]
    embedder: Annotated[str, described("Embedder of the index.")]
    model: Annotated[
        str | None, described("Model that wrote the questions or reranked; null if none did.")
    ]
    usage: Annotated[Usage, described("Of this evaluation, without responses from the journal.")]
    stopped: Annotated[str | None, described("Why it ended early; null if it did not.")]
    baseline: Baseline | None
    """The earlier evaluation to compare with; None: there is none."""
    evaluated_at: Annotated[datetime, described("When it was made.")]
    caught_up_at: CaughtUpAtField = None
    unread: UnreadField = None

    @property
    @described("All questions, by stage.", name="stages")
    def recalls(self) -> tuple[StageRecall, ...]:
        return self._recalls(None)

    @property
    @described("The groups, by name.", name="groups")
    def group_recalls(self) -> tuple[GroupRecall, ...]:
        return tuple(GroupRecall(group, self._recalls(group)) for group in self.groups)

    @property
    @described("Null without --baseline.", name="baseline")
    def comparison(self) -> BaselineComparison | None:
        if self.baseline is None:
            return None
        pairs = [self.baseline_recall(stage) for stage in self.stages]
        return BaselineComparison(
            self.baseline.evaluated_at,
            self.baseline.embedder,
            len(self.compared),
            tuple(before for before, _ in pairs),
            tuple(after for _, after in pairs),
            self.changes(RankingStage.SEARCH),
        )

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """Groups of the questions, sorted."""
        return tuple(sorted({one.question.group_id for one in self.questions}))

    @property
    def exit_code(self) -> ExitCode:
        """`STOPPED` if the budget ended it."""
        return ExitCode.DONE if self.stopped is None else ExitCode.STOPPED

    def recall(self, stage: RankingStage, group: GroupId | None = None) -> StageRecall:
        chosen = (one for one in self.questions if group in (None, one.question.group_id))
        return stage_recall(stage, chosen)

    def _recalls(self, group: GroupId | None) -> tuple[StageRecall, ...]:
        return tuple(self.recall(stage, group) for stage in self.stages)

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


def read_baseline(path: Path) -> Baseline:
    """Return an earlier evaluation that was written with --save or --json."""
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=encoded_type(EvaluationReport))
        return Baseline(
            datetime.fromisoformat(saved.evaluated_at),
            saved.embedder,
            tuple(
                EvaluatedQuestion(
                    EvaluationQuestion(one.question, tuple(one.turns), one.group),
                    one.ranks,
                    one.has_hits,
                )
                for one in saved.questions
            ),
        )
    except OSError as error:
        raise BadUsage(f"`{path}` cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise BadUsage(
            f"`{path}` is no evaluation of this version of turnetl: {error}; name a file of "
            "`turnetl evaluate --save`"
        ) from error


def is_evaluation(path: Path) -> bool:
    """Return whether a file is an evaluation that `read_baseline` reads."""
    try:
        read_baseline(path)
    except BadUsage:
        return False
    return True
