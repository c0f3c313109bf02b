"""The recall of the search on the user's own turns."""

from collections.abc import Iterator, Sequence

from turnetl.base.text import plural
from turnetl.evaluation.recall import (
    DEPTHS,
    EvaluationReport,
    QuestionSource,
    RankChange,
    RankingStage,
    StageChange,
    StageRecall,
)
from turnetl.views import costs
from turnetl.views.index import unread_messages
from turnetl.views.nodes import Caption, Column, Node, Table, View, limited, line, numbers

_SHOWN = (RankingStage.SEARCH, RankingStage.SESSION, RankingStage.RERANKING)
"""Stages whose intervals and changes are printed: what the user sees; `--json` has all."""
_LISTED = 5
"""Questions that are printed; `--json` has all."""


def view(report: EvaluationReport) -> View:
    """Return a row per stage, of all questions and of each group, and the questions missed."""
    columns = (
        *(Column("stage"), *numbers("questions")),
        *(Column(f"recall\n@{depth}", is_number=True, is_wrapped=False) for depth in DEPTHS),
        Column("MRR", is_number=True, is_wrapped=False),
    )
    table = Table(columns, [*_recall_rows(report)])
    return [table, *_comparison(report), *_misses(report), Caption(_summary(report))]


def _recall_rows(report: EvaluationReport) -> Iterator[Sequence[Node]]:
    several = len(report.groups) > 1
    for group in (None, *(report.groups if several else ())):
        if several:
            yield (line((group or "all groups", "bold")),)
        for stage in report.stages:
            recall = report.recall(stage, group)
            before = report.baseline_recall(stage) if group is None and report.compared else None
            cells = [*_cells(recall, before), "-" if recall.mrr is None else f"{recall.mrr:.2f}"]
            yield stage.value, f"{recall.questions:,}", *cells
            if stage in _SHOWN and recall.questions:
                intervals = [*map(recall.interval, DEPTHS), recall.mrr_interval]
                yield "", "95 %", *(f"{low:.2f}-{high:.2f}" for low, high in intervals)
        yield ()


def _cells(recall: StageRecall, pair: tuple[StageRecall, StageRecall] | None) -> Iterator[str]:
    """Yield the recall at each depth; with a baseline, also the difference on its questions."""
    for depth in DEPTHS:
        found = recall.at(depth)
        share = "-" if found is None else f"{found:.2f}"
        if pair is None or (before := pair[0].at(depth)) is None:
            yield share
        else:
            change = f"{(pair[1].at(depth) or 0.0) - before:+.2f}"
            yield f"{share} {change.replace('0.', '.')}"


def _comparison(report: EvaluationReport) -> Iterator[Node]:
    """Yield whether what the user sees is better or worse than before, and the questions."""
    if report.comparison is not None:
        for change in report.comparison.stage_changes:
            if change.stage in _SHOWN:
                yield _verdict(change)
    yield from _changes(report)


def _verdict(change: StageChange) -> str:
    """Return what changed of a stage, and whether that is larger than chance."""
    depths = "".join(
        f"@{one.depth} {one.gained:,} gained, {one.lost:,} lost, p = {one.p_value:.2g}; "
        for one in change.depths
        if one.gained or one.lost
    )
    low, high = change.mrr_interval
    clear = [f"@{one.depth}" for one in change.depths if one.is_clear]
    clear += ["MRR"] if change.is_clear else []
    verdict = f"clear: {', '.join(clear)}" if clear else "no clear change"
    return (
        f"{change.stage.value}: {verdict} (exact McNemar test, paired bootstrap); {depths}"
        f"MRR {change.mrr:+.2f}, 95 % {low:+.2f} to {high:+.2f}"
    )


def _changes(report: EvaluationReport) -> Iterator[Node]:
    changed = report.changes(RankingStage.SEARCH)
    worse = [one for one in changed if one.is_worse]
    if changed:
        better = len(changed) - len(worse)
        yield f"turns further down than in the baseline: {len(worse):,}; up: {better:,}"
        yield from limited(worse, _change, _LISTED)


def _change(one: RankChange) -> str:
    return f"{_rank(one.before)} to {_rank(one.after)}: {one.question}"


def _misses(report: EvaluationReport) -> Iterator[Node]:
    is_reranked = RankingStage.RERANKING in report.stages
    last = RankingStage.RERANKING if is_reranked else RankingStage.SEARCH
    missed = [one for one in report.questions if one.ranks.get(last, 1) is None]
    yield from limited(missed, lambda one: f"not found: {one.question.text}", _LISTED)


def _rank(rank: int | None) -> str:
    return f"over {DEPTHS[-1]}" if rank is None else str(rank)


def _summary(report: EvaluationReport) -> str:
    without = sum(not one.has_hits for one in report.questions)
    summary = (
        f"{plural(len(report.questions), 'question')} about {plural(report.turns, 'turn')}, "
        f"embedder {report.embedder}; without any hit in `turnetl search`: {without:,}"
    )
    if report.model is None:
        return summary
    return f"{summary}; model {report.model}: {costs.used(report.usage)}"


def messages(report: EvaluationReport) -> Iterator[str]:
    yield from unread_messages(report.unread, report.caught_up_at)
    if report.stopped is not None:
        yield (
            f"{report.stopped}: the figures are of what was measured; the same command continues "
            "with the responses that are paid for"
        )
    if report.source is QuestionSource.MODEL and report.turns_with_questions:
        yield (
            f"{plural(report.turns_with_questions, 'turn')} of the index have questions that a "
            "model wrote: questions that it writes now are closer to them than those of a person"
        )
    if report.failed:
        yield f"{plural(report.failed, 'turn')} without a question: the response was not valid"
    if report.without_question:
        yield (
            f"{plural(report.without_question, 'turn')} without a question: the model could think "
            "of none"
        )
    if report.baseline is not None and report.baseline.embedder != report.embedder:
        yield f"the baseline has the embedder {report.baseline.embedder}"
