"""`turnetl templates compare --json`."""

from typing import Annotated, Literal

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.evaluation.expected_facts import CheckedFact, LabelScore
from turnetl.evaluation.template_report import (
    ComparedTemplate,
    DistinctFact,
    SampledTurn,
    TemplateComparison,
)
from turnetl.extraction.discard_reasons import DiscardReason
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output


class SampledTurnOutput(JsonOutput):
    """A compared turn."""

    turn_id: Annotated[str, described("Id of the turn.")]
    kind: Annotated[str, described("Its main content.")]
    chars: Annotated[int, described("Characters of its episode.")]
    started_at: Annotated[Timestamp | None, described("When it started; null if it is not known.")]
    archive: Annotated[str, described("Archive of the turn.")]
    first_line: Annotated[int, described("Its first line in the archive.")]


class TrialDatesOutput(JsonOutput):
    """How facts are dated, compared with their turns."""

    undated: Annotated[int, described("Facts without a `valid_at`.")]
    within: Annotated[
        int, described("Facts dated during their turn, or up to an hour before or after it.")
    ]
    before: Annotated[int, described("Facts dated earlier: by a date that the text names.")]
    after: Annotated[int, described("Facts dated later.")]


class DistinctFactOutput(JsonOutput):
    """A fact that the other template did not find."""

    text: Annotated[str, described("The fact.")]
    relation: Annotated[str, described("Its relation.")]
    source: Annotated[str, described("Name of the entity that it starts from.")]
    target: Annotated[str, described("Name of the entity that it leads to.")]
    valid_at: Annotated[
        Timestamp | None, described("Since when it holds, as dated; null if it is not.")
    ]
    turn_id: Annotated[str, described("The first turn that states it.")]
    archive: Annotated[str, described("Archive of that turn.")]
    first_line: Annotated[int, described("First line of that turn in the archive.")]
    nearest: Annotated[
        str, described("The most similar fact of the other template; empty if it has none.")
    ]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]
    shares_entity: Annotated[
        bool, described("Whether the nearest fact names an entity of this one; none does if not.")
    ]


class FailedTurnOutput(JsonOutput):
    """A turn that cannot be ingested with a template."""

    turn_id: Annotated[str, described("Id of the turn.")]
    reason: Annotated[str, described("Why.")]


class CheckedFactOutput(JsonOutput):
    """A labelled fact, and the most similar fact of its turn."""

    turn_id: Annotated[str, described("The turn of the label.")]
    line: Annotated[int, described("Of the label in its file.")]
    fact: Annotated[str, described("The label.")]
    found: Annotated[bool, described("Whether a fact of the turn says it.")]
    nearest: Annotated[str, described("The most similar fact of the turn; empty if it has none.")]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]


class LabelScoreOutput(JsonOutput):
    """Labelled facts and those of a template."""

    recall: Annotated[
        float | None, described("Share of the labels that were found; null without labels.")
    ]
    precision: Annotated[
        float | None,
        described("Share of the facts of turns with labels that a label says; null without facts."),
    ]
    facts: Annotated[int, described("Facts of the turns with labels.")]
    matching: Annotated[int, described("Those of them that a label says.")]
    labels: Annotated[list[CheckedFactOutput], described("The labels, in the order of the file.")]


class ComparedTemplateOutput(JsonOutput):
    """A template and what it made of the turns."""

    name: Annotated[str, described("As it was given; `none` for no template.")]
    path: Annotated[str | None, described("Its file; null without a template.")]
    digest: Annotated[str, described("Digest of the text that the model receives.")]
    tokens: Annotated[int, described("Estimated tokens of that text.")]
    entities: Annotated[int, described("Entities.")]
    facts: Annotated[int, described("Facts.")]
    invalidated: Annotated[int, described("Facts that a later turn contradicted.")]
    dates: Annotated[TrialDatesOutput, described("How its facts are dated.")]
    only_facts: Annotated[
        list[DistinctFactOutput], described("Facts that the other template did not find.")
    ]
    only_entities: Annotated[
        list[str],
        described("Names that neither an entity nor a fact of the other template has, sorted."),
    ]
    discarded: Annotated[
        dict[str, int],
        described("Extracted names and facts that were discarded, by reason.", keys=DiscardReason),
    ]
    junk: Annotated[
        dict[str, list[str]],
        described(
            "Names of kept entities that the stoplist matches, by reason.", keys=DiscardReason
        ),
    ]
    failed: Annotated[list[FailedTurnOutput], described("Turns that cannot be ingested with it.")]
    usage: Annotated[UsageOutput, described("Of the compared turns, whenever it was paid for.")]
    labels: Annotated[LabelScoreOutput | None, described("Null without --expect.")]


class TemplateComparisonOutput(JsonOutput):
    """Two templates on the same turns."""

    group: fields.GroupField
    extractor: Annotated[str, described("Extractor of both.")]
    model: Annotated[str, described("Model of both, with its provider.")]
    seed: Annotated[int, described("Seed of the sample.")]
    candidates: Annotated[int, described("Turns from which the sample was drawn.")]
    sampled: Annotated[int, described("Turns that were drawn.")]
    turns: Annotated[
        list[SampledTurnOutput], described("Turns that both could ingest, oldest first.")
    ]
    templates: Annotated[
        list[ComparedTemplateOutput], described("Both templates, in the order given.")
    ]
    fact_similarity: Annotated[
        float, described("Cosine from which two facts that share an entity say the same.")
    ]
    unused_labels: Annotated[
        int, described("Labels of turns that are not among the compared ones.")
    ]
    paid: Annotated[
        dict[str, UsageOutput],
        described("What this comparison paid, by prompt; the journal had the other responses."),
    ]
    stopped: Annotated[str | None, described("Why it ended before all turns; null if it did not.")]
    status: Annotated[
        Literal["complete", "stopped", "failed"],
        described("`stopped`: by the budget; `failed`: no turn could be compared."),
    ]
    compared_at: Annotated[Timestamp, described("When they were compared.")]


def template_comparison_output(report: TemplateComparison) -> TemplateComparisonOutput:
    status: Literal["complete", "stopped", "failed"] = "complete" if report.turns else "failed"
    return TemplateComparisonOutput(
        group=report.group,
        extractor=report.extractor,
        model=report.model,
        seed=report.seed,
        candidates=report.candidates,
        sampled=report.sampled,
        turns=[_turn(turn) for turn in report.turns],
        templates=[_template(one) for one in report.templates],
        fact_similarity=report.fact_similarity,
        unused_labels=report.unused_labels,
        paid={prompt: usage_output(usage) for prompt, usage in report.paid.items()},
        stopped=report.stopped,
        status="stopped" if report.stopped is not None else status,
        compared_at=timestamp(report.compared_at),
    )


def _turn(turn: SampledTurn) -> SampledTurnOutput:
    return SampledTurnOutput(
        turn_id=turn.turn_id,
        kind=turn.kind,
        chars=turn.chars,
        started_at=timestamp(turn.started_at),
        archive=turn.archive,
        first_line=turn.first_line,
    )


def _template(one: ComparedTemplate) -> ComparedTemplateOutput:
    dates = one.dates
    return ComparedTemplateOutput(
        name=one.name,
        path=None if one.path is None else str(one.path),
        digest=one.digest,
        tokens=one.tokens,
        entities=one.entities,
        facts=one.facts,
        invalidated=one.invalidated,
        dates=TrialDatesOutput(
            undated=dates.undated, within=dates.within, before=dates.before, after=dates.after
        ),
        only_facts=[_fact(fact) for fact in one.only_facts],
        only_entities=list(one.only_entities),
        discarded={reason.value: count for reason, count in one.discarded.items()},
        junk={reason.value: list(names) for reason, names in one.junk.items()},
        failed=[FailedTurnOutput(turn_id=turn.turn_id, reason=turn.reason) for turn in one.failed],
        usage=usage_output(one.usage),
        labels=None if one.labels is None else _labels(one.labels),
    )


def _fact(fact: DistinctFact) -> DistinctFactOutput:
    return DistinctFactOutput(
        text=fact.text,
        relation=fact.relation,
        source=fact.source,
        target=fact.target,
        valid_at=timestamp(fact.valid_at),
        turn_id=fact.turn_id,
        archive=fact.archive,
        first_line=fact.first_line,
        nearest=fact.nearest,
        similarity=fact.similarity,
        shares_entity=fact.shares_entity,
    )


def _labels(score: LabelScore) -> LabelScoreOutput:
    return LabelScoreOutput(
        recall=score.recall,
        precision=score.precision,
        facts=score.extracted,
        matching=score.matching,
        labels=[_checked(one) for one in score.checked],
    )


def _checked(one: CheckedFact) -> CheckedFactOutput:
    return CheckedFactOutput(
        turn_id=one.expected.turn_id,
        line=one.expected.line,
        fact=one.expected.text,
        found=one.is_found,
        nearest=one.nearest,
        similarity=one.similarity,
    )
