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
from turnetl.evaluation.intervals import Interval, bootstrap, mcnemar, wilson
from turnetl.evaluation.question_set import EvaluationQuestion
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.query import Thesaurus
from turnetl.retrieval.ranking import WEIGHTS, Evidence
from turnetl.retrieval.search import search

DEPTHS = (1, 5, 10)
"""Hits among which the right turn is looked for."""
_SESSION_HITS = 50
"""Turns whose sessions are compared: about ten sessions."""


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
    SESSION = "session"
    """The sessions of the hits of `turnetl search`: the right one is enough."""
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
    RankingStage.SESSION: tuple(WEIGHTS),
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
        """Return the rank of the right turn after each stage but reranking, and of its session."""
        ranks: dict[RankingStage, int | None] = {}
        for stage in self.stages:
            if stage not in (RankingStage.SESSION, RankingStage.RERANKING):
                found = await self.found(question.text, stage)
                ranks[stage] = rank_of(question.turns, found)
        ranks[RankingStage.SESSION] = await self._session_rank(question)
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
        return [hit.turn_id for hit in await self._hits(text, stage, DEPTHS[-1])]

    async def _session_rank(self, question: EvaluationQuestion) -> int | None:
        """Return the rank of the first session with a right turn, among ten sessions."""
        hits = await self._hits(question.text, RankingStage.SESSION, _SESSION_HITS)
        found = dict.fromkeys((hit.group_id, hit.session_id) for hit in hits)
        keys = [key for turn in question.turns if (key := self.index.lookup().turn_key(turn))]
        receipts = [turn.receipt for turn in self.index.turns(keys).values()]
        right = {(receipt.group_id, receipt.session_id) for receipt in receipts}
        return rank_of([*right], [*found][: DEPTHS[-1]])

    async def _hits(self, text: str, stage: RankingStage, limit: int) -> Sequence[SearchHit]:
        found = await search(
            self.index,
            text,
            self.embedder,
            now=self.now,
            selection=self.selection,
            limit=limit,
            nearest=True,
            weights={kind: WEIGHTS[kind] for kind in EVIDENCE[stage]},
            thesaurus=self.thesaurus,
            model=self.model if stage is RankingStage.RERANKING else None,
        )
        return found.hits


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


def rank_of(right: Sequence[object], found: Sequence[object]) -> int | None:
    """Return the rank of the first right turn or session, from 1; None if none was found."""
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
    ranks: tuple[int | None, ...]
    """Of the right turn or session of each question, from 1; None beyond the tenth."""

    @property
    @described("Questions that were measured.")
    def questions(self) -> int:
        return len(self.ranks)

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

    @property
    @described("The 95 % interval of `recall_at_1` (Wilson).")
    def interval_at_1(self) -> Interval:
        return self.interval(1)

    @property
    @described("The same of `recall_at_5`.")
    def interval_at_5(self) -> Interval:
        return self.interval(5)

    @property
    @described("The same of `recall_at_10`.")
    def interval_at_10(self) -> Interval:
        return self.interval(10)

    @property
    @described("Mean of 1 / rank, 0 beyond the tenth hit; null without questions.", digits=4)
    def mrr(self) -> float | None:
        return sum(self.reciprocals) / len(self.ranks) if self.ranks else None

    @property
    @described("The 95 % interval of `mrr` (bootstrap, seed 0).")
    def mrr_interval(self) -> Interval:
        return bootstrap(self.reciprocals)

    @property
    def reciprocals(self) -> list[float]:
        return [1 / rank if rank else 0.0 for rank in self.ranks]

    def at(self, depth: int) -> float | None:
        return self._count(depth) / len(self.ranks) if self.ranks else None

    def interval(self, depth: int) -> Interval:
        return wilson(self._count(depth), len(self.ranks))

    def _count(self, depth: int) -> int:
        return sum(rank is not None and rank <= depth for rank in self.ranks)


_CLEAR = 0.05
"""A change whose p-value is lower is larger than chance makes it."""


@dataclass(frozen=True, slots=True)
class DepthChange:
    """What changed among the first hits, compared question by question."""

    depth: Annotated[int, described("Hits among which the right turn is looked for.")]
    gained: Annotated[int, described("Questions whose turn is among them now only.")]
    lost: Annotated[int, described("Questions whose turn was among them only.")]

    @property
    @described("The p-value of the exact McNemar test.", digits=4)
    def p_value(self) -> float:
        return mcnemar(self.gained, self.lost)

    @property
    @described("Whether the change is larger than chance makes it: `p_value` is below 0.05.")
    def is_clear(self) -> bool:
        return self.p_value < _CLEAR


@dataclass(frozen=True, slots=True)
class StageChange:
    """What changed of a stage, compared question by question."""

    stage: Annotated[RankingStage, described("The stage.")]
    depths: Annotated[tuple[DepthChange, ...], described("The change among the first hits.")]
    mrr: Annotated[float, described("The change of the mean reciprocal rank.", digits=4)]
    mrr_interval: Annotated[Interval, described("Its 95 % interval (paired bootstrap, seed 0).")]

    @property
    @described("Whether `mrr_interval` is above or below 0 as a whole.")
    def is_clear(self) -> bool:
        low, high = self.mrr_interval
        return low > 0 or high < 0


def stage_change(before: StageRecall, after: StageRecall) -> StageChange:
    """Compare the same questions, in the same order."""
    pairs = [*zip(before.ranks, after.ranks, strict=True)]
    depths = []
    for depth in DEPTHS:
        within = [tuple(rank is not None and rank <= depth for rank in pair) for pair in pairs]
        depths.append(DepthChange(depth, within.count((False, True)), within.count((True, False))))
    gains = [now - was for was, now in zip(before.reciprocals, after.reciprocals, strict=True)]
    mean = sum(gains) / len(gains) if gains else 0.0
    return StageChange(after.stage, tuple(depths), mean, bootstrap(gains))


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
    stage_changes: Annotated[
        tuple[StageChange, ...], described("Whether that is larger than chance, by stage.")
    ]
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
    embedder: Annotated[str, described("Embedder that compares passages in the index.")]
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
            tuple(stage_change(before, after) for before, after in pairs),
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
    return StageRecall(stage, tuple(one.ranks[stage] for one in questions if stage in one.ranks))


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
