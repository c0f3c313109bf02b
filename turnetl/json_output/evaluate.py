"""`turnetl evaluate --json`, which is also the file of --save and --baseline."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, TurnId
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.evaluation.question_set import EvaluationQuestion
from turnetl.evaluation.recall import EvaluatedQuestion, RankingStage
from turnetl.evaluation.recall_report import (
    Baseline,
    EvaluationReport,
    QuestionSource,
    StageRecall,
)
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output


class StageRecallOutput(JsonOutput):
    """The recall of a stage."""

    stage: Annotated[RankingStage, described("The stage.")]
    questions: Annotated[int, described("Questions that were measured.")]
    recall_at_1: Annotated[
        float | None, described("Share with the right turn first; null without questions.")
    ]
    recall_at_5: Annotated[float | None, described("The same among the first five hits.")]
    recall_at_10: Annotated[float | None, described("The same among the first ten hits.")]


class GroupRecallOutput(JsonOutput):
    """The recall on the questions of a project."""

    group: Annotated[str, described("The group.")]
    stages: Annotated[list[StageRecallOutput], described("The stages, in their order.")]


class EvaluatedQuestionOutput(JsonOutput):
    """A question, and where its turn is found."""

    question: Annotated[str, described("The question.")]
    turns: Annotated[list[str], described("The turns of which one must be found.")]
    group: Annotated[str, described("Group of the first of them.")]
    has_hits: Annotated[
        bool, described("Whether `turnetl search` has hits: none is close to the question if not.")
    ]
    ranks: Annotated[
        dict[str, int | None],
        described("By stage: rank of the turn, from 1; null beyond the tenth hit."),
    ]


class RankChangeOutput(JsonOutput):
    """A question whose turn has another rank than in the baseline."""

    question: Annotated[str, described("The question.")]
    before: Annotated[int | None, described("Rank in the baseline; null beyond the tenth hit.")]
    after: Annotated[int | None, described("Rank now.")]


class BaselineOutput(JsonOutput):
    """The comparison with an earlier evaluation."""

    evaluated_at: Annotated[Timestamp, described("When it was made.")]
    embedder: Annotated[str, described("Its embedder.")]
    questions: Annotated[int, described("Questions that both have.")]
    before: Annotated[
        list[StageRecallOutput], described("Its recall on these questions, by stage.")
    ]
    after: Annotated[list[StageRecallOutput], described("The recall on them now.")]
    changes: Annotated[
        list[RankChangeOutput],
        described("Questions whose turn has another rank in `turnetl search`, worse ones first."),
    ]


class EvaluationOutput(JsonOutput):
    """The recall of the search on the user's own turns."""

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
    stages: Annotated[list[StageRecallOutput], described("All questions, by stage.")]
    groups: Annotated[list[GroupRecallOutput], described("The groups, by name.")]
    questions: Annotated[list[EvaluatedQuestionOutput], described("All questions.")]
    baseline: Annotated[BaselineOutput | None, described("Null without --baseline.")]
    usage: Annotated[
        UsageOutput, described("Of this evaluation, without responses from the journal.")
    ]
    stopped: Annotated[str | None, described("Why it ended early; null if it did not.")]
    evaluated_at: Annotated[Timestamp, described("When it was made.")]
    caught_up_at: Annotated[
        Timestamp | None,
        described("When the index last held the whole graph; null if it never did."),
    ]
    unread: Annotated[str | None, described("Why the graph could not be read; null if it was.")]


def evaluation_output(report: EvaluationReport) -> EvaluationOutput:
    return EvaluationOutput(
        source=report.source,
        turns=report.turns,
        turns_with_questions=report.turns_with_questions,
        without_question=report.without_question,
        failed=report.failed,
        embedder=report.embedder,
        model=report.model,
        stages=[_stage(report.recall(stage)) for stage in report.stages],
        groups=[
            GroupRecallOutput(
                group=group,
                stages=[_stage(report.recall(stage, group)) for stage in report.stages],
            )
            for group in report.groups
        ],
        questions=[_question(one) for one in report.questions],
        baseline=_baseline(report),
        usage=usage_output(report.usage),
        stopped=report.stopped,
        evaluated_at=timestamp(report.evaluated_at),
        caught_up_at=timestamp(report.caught_up_at),
        unread=report.unread,
    )


def read_baseline(path: Path) -> Baseline:
    """Return an earlier evaluation that was written with --save or --json.

    Raises:
        BadUsage: the file cannot be read, or is no evaluation.
    """
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=EvaluationOutput)
        return Baseline(
            datetime.fromisoformat(saved.evaluated_at),
            saved.embedder,
            tuple(_evaluated(one) for one in saved.questions),
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


def _evaluated(saved: EvaluatedQuestionOutput) -> EvaluatedQuestion:
    question = EvaluationQuestion(
        saved.question, tuple(map(TurnId, saved.turns)), GroupId(saved.group)
    )
    ranks = {RankingStage(stage): rank for stage, rank in saved.ranks.items()}
    return EvaluatedQuestion(question, ranks, saved.has_hits)


def _stage(recall: StageRecall) -> StageRecallOutput:
    at_1, at_5, at_10 = (
        None if (share := recall.at(depth)) is None else round(share, 4) for depth in recall.found
    )
    return StageRecallOutput(
        stage=recall.stage,
        questions=recall.questions,
        recall_at_1=at_1,
        recall_at_5=at_5,
        recall_at_10=at_10,
    )


def _question(one: EvaluatedQuestion) -> EvaluatedQuestionOutput:
    return EvaluatedQuestionOutput(
        question=one.question.text,
        turns=list(one.question.turns),
        group=one.question.group_id,
        has_hits=one.has_hits,
        ranks={stage.value: rank for stage, rank in one.ranks.items()},
    )


def _baseline(report: EvaluationReport) -> BaselineOutput | None:
    if report.baseline is None:
        return None
    pairs = [report.baseline_recall(stage) for stage in report.stages]
    return BaselineOutput(
        evaluated_at=timestamp(report.baseline.evaluated_at),
        embedder=report.baseline.embedder,
        questions=len(report.compared),
        before=[_stage(before) for before, _ in pairs],
        after=[_stage(after) for _, after in pairs],
        changes=[
            RankChangeOutput(question=one.question, before=one.before, after=one.after)
            for one in report.changes(RankingStage.SEARCH)
        ],
    )
