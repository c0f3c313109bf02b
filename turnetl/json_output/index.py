"""`turnetl index --json`, and what `turnetl status --json` says about the index."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.index.report import IndexReport, IndexStatus, QuestionEstimate, QuestionReport
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output


class IndexedGroupOutput(JsonOutput):
    """A group in the search index."""

    group: fields.GroupField
    turns: Annotated[int, described("Turns in the index.")]


class IndexStatusOutput(JsonOutput):
    """The search index of a graph."""

    index: Annotated[str, described("Path of the index.")]
    turns: Annotated[int, described("Turns in the index.")]
    turns_behind: Annotated[
        int | None,
        described(
            "Commits in the graph that the index has not read, or turns that were undone since; "
            "null if the graph was not read."
        ),
    ]
    passages: Annotated[int, described("Passages with a vector.")]
    turns_with_questions: Annotated[
        int, described("Turns for which a model was asked for questions.")
    ]
    bytes: Annotated[int, described("Size on disk.")]
    embedder: Annotated[str, described("Embedder of the passages.")]
    caught_up_at: fields.CaughtUpAtField
    groups: Annotated[list[IndexedGroupOutput], described("The groups, sorted by name.")]


class QuestionsOutput(JsonOutput):
    """What `--questions` did."""

    turns: Annotated[int, described("Turns that a model was asked about.")]
    failed: Annotated[int, described("Turns whose response was not valid.")]
    usage: Annotated[
        UsageOutput, described("Usage of the model, without responses from the journal.")
    ]


class QuestionEstimateOutput(JsonOutput):
    """What `--questions` would use, rather too much than too little."""

    model: Annotated[str, described("Provider and model.")]
    turns: Annotated[int, described("Turns without questions; one request each.")]
    prompt_tokens: Annotated[int, described("Tokens of the requests.")]
    completion_tokens: Annotated[int, described("Tokens of the responses.")]
    cost: Annotated[
        float | None, described("US dollars; null if the price of the model is unknown.")
    ]


class IndexOutput(IndexStatusOutput):
    """What a run of `turnetl index` changed, and the index afterwards."""

    added: Annotated[int, described("Turns read from the graph.")]
    removed: Annotated[int, described("Turns removed because they left the graph.")]
    questions: Annotated[
        QuestionsOutput | None, described("What `--questions` did; null without it.")
    ]


def index_output(report: IndexReport) -> IndexOutput:
    status = index_status_output(report.status)
    values = {name: getattr(status, name) for name in status.__struct_fields__}
    return IndexOutput(
        **values,
        added=report.changes.added,
        removed=report.changes.removed,
        questions=None if report.questions is None else _questions(report.questions),
    )


def question_estimate_output(estimate: QuestionEstimate) -> QuestionEstimateOutput:
    usage = estimate.usage
    return QuestionEstimateOutput(
        model=estimate.model,
        turns=estimate.turns,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=None if usage.cost is None else round(usage.cost, 6),
    )


def _questions(report: QuestionReport) -> QuestionsOutput:
    return QuestionsOutput(
        turns=report.turns, failed=report.failed, usage=usage_output(report.usage)
    )


def index_status_output(status: IndexStatus) -> IndexStatusOutput:
    return IndexStatusOutput(
        index=str(status.path),
        turns=status.turns,
        turns_behind=status.turns_behind,
        passages=status.passages,
        turns_with_questions=status.turns_with_questions,
        bytes=status.bytes,
        embedder=status.embedder,
        caught_up_at=timestamp(status.caught_up_at),
        groups=[
            IndexedGroupOutput(group=group.group_id, turns=group.turns) for group in status.groups
        ],
    )
