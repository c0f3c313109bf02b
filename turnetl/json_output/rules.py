"""`turnetl rules --json` and `turnetl filter --explain RULE --json`."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.episodes.rule_examples import RuleExample, RuleExplanation
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.noise import NoiseRule


class RuleOutput(JsonOutput):
    """A noise rule."""

    rule: Annotated[str, described("Name of the rule.")]
    version: Annotated[str, described("Version of the rule; of a rule of your own a digest.")]
    description: Annotated[str, described("What the rule marks and why, in one sentence.")]
    active: Annotated[bool, described("Whether it marks turns.")]
    user_defined: Annotated[bool, described("Whether it is a rule of your own.")]


class RulesOutput(JsonOutput):
    """All noise rules."""

    rules: Annotated[
        list[RuleOutput],
        described("The rules, in the order in which the first match names a turn."),
    ]


class RuleMatchesOutput(JsonOutput):
    """The turns of a group that a rule matches."""

    group: fields.GroupField
    turns: Annotated[int, described("Turns that the rule matches.")]
    attributed: Annotated[
        int,
        described("Those that it marks today: it is active, and the first that matches."),
    ]
    chars: Annotated[int, described("Characters of the turns in the archives.")]


class RuleExampleOutput(JsonOutput):
    """A turn that a rule matches."""

    group: fields.GroupField
    started_at: Annotated[
        Timestamp | None, described("Time of the prompt; null if the archive has none.")
    ]
    session_id: fields.SessionIdField
    turn_id: fields.TurnIdField
    prompt: Annotated[str, described("Beginning of the user's prompt, on one line.")]
    response: Annotated[str, described("Beginning of the agent's response, on one line.")]
    archive: Annotated[str, described("Path of the archive.")]
    first_line: fields.FirstLineField
    last_line: fields.LastLineField


class RuleExplanationOutput(RuleOutput):
    """A noise rule, the turns that it matches by itself, and examples."""

    turns: Annotated[int, described("Turns that the rule matches, over all groups.")]
    attributed: Annotated[int, described("Those that it marks today, over all groups.")]
    chars: Annotated[int, described("Characters of the turns, over all groups.")]
    groups: Annotated[list[RuleMatchesOutput], described("The same per group.")]
    examples: Annotated[
        list[RuleExampleOutput],
        described("Turns with different prompts, from as many groups as possible."),
    ]


def rules_output(rules: Sequence[NoiseRule], active: Collection[str]) -> RulesOutput:
    """Build the list of rules; `active` has the names of those that mark turns."""
    return RulesOutput(
        rules=[RuleOutput(**_values(rule, active=rule.name in active)) for rule in rules]
    )


def rule_explanation_output(explanation: RuleExplanation) -> RuleExplanationOutput:
    groups = [
        RuleMatchesOutput(
            group=group.group, turns=group.turns, attributed=group.attributed, chars=group.chars
        )
        for group in explanation.groups
    ]
    return RuleExplanationOutput(
        **_values(explanation.rule, active=explanation.active),
        turns=sum(group.turns for group in groups),
        attributed=sum(group.attributed for group in groups),
        chars=sum(group.chars for group in groups),
        groups=groups,
        examples=[_example(example) for example in explanation.examples],
    )


def _values(rule: NoiseRule, *, active: bool) -> dict[str, Any]:
    return {
        "rule": rule.name,
        "version": rule.recipe.removeprefix(f"{rule.name}/"),
        "description": rule.description,
        "active": active,
        "user_defined": bool(rule.definition),
    }


def _example(example: RuleExample) -> RuleExampleOutput:
    return RuleExampleOutput(
        group=example.group,
        started_at=timestamp(example.started_at),
        session_id=example.session_id,
        turn_id=example.turn_id,
        prompt=example.prompt,
        response=example.response,
        archive=example.archive,
        first_line=example.first_line,
        last_line=example.last_line,
    )
