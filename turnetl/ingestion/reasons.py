"""Reasons for pending and stale turns, each with a sentence."""

from turnetl.base.reason import Reason


class PendingReason(Reason):
    """Reason for a turn without a noise mark that is not in the graph."""

    OPEN = "open", "The turn is not closed: its session may still be active."
    NO_TIME = "no_time", "The archive records no time for the turn; set one with --assume-time."
    OUT_OF_RANGE = "out_of_range", "The turn started outside the range of --since and --until."
    OVER_LIMIT = "over_limit", "The turn is beyond the --limit of this run."
    READY = "ready", "The turn can be committed: run `turnetl ingest`."
    QUARANTINED = (
        "quarantined",
        "The turn failed and is quarantined; `turnetl retry` attempts it again.",
    )
    UNFILTERED = (
        "unfiltered",
        "Turns, rules or templates changed since the group was filtered: run `turnetl filter`.",
    )
    UNKNOWN = "unknown", "The graph did not respond, so the state of the turn is not known."


class StaleReason(Reason):
    """Reason for a committed turn that a run would commit differently today.

    The members are in order of precedence: a turn is stale for the first one that applies.
    """

    NOISE = "noise", "A noise rule matches the turn now."
    CONTENT_CHANGED = "content_changed", "The content of the turn changed in its archive."
    TEXT_CHANGED = "text_changed", "The episode text of the turn is rendered differently now."
    RECIPE_CHANGED = (
        "recipe_changed",
        "The extractor, a template, the ontology or the model changed.",
    )
