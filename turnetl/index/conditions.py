"""Conditions on the turns of a search, each declared once for all who let it be stated.

Options, arguments of tools and fields of forms take their texts from `CONDITIONS`. Where case does
not matter, see `fold`.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.time_span import EXAMPLES, TimeSpan, check_between, parse_time_span


@dataclass(frozen=True, slots=True)
class ConditionDeclaration:
    """How a condition is described, and how a text is read as one."""

    help: str
    """A sentence, for a person."""
    brief: str
    """For an agent, which pays for each word."""
    title: str
    """Of the field of a form."""
    example: str
    """What that field shows while it is empty."""
    time: Callable[[TimeSpan], datetime] | None
    """The end that counts of the span which a text names; None: the text is the value."""

    def read_time(self, text: str, now: datetime) -> datetime | None:
        """Return the UTC time that a text such as `2026-03` or `7d` names, if it names one."""
        span = parse_time_span(text, now)
        return None if span is None or self.time is None else self.time(span)


def _condition(
    text: str,
    brief: str = "",
    title: str = "",
    example: str = "",
    *,
    default: Any = None,
    time: Callable[[TimeSpan], datetime] | None = None,
) -> Any:
    """Declare a condition. Cyclopts prints the `help` of a field."""
    condition = ConditionDeclaration(text, brief, title, example, time)
    return field(default=default, metadata={"help": text, "condition": condition})


_START, _END = attrgetter("start"), attrgetter("end")


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that a turn must meet, all of them. Every default means: any.

    Case does not matter for tools, files, entities, labels and relations. Those of a fact are met
    by one fact, `as_of` by what held then. Of an absolute path, the file counts whose path in its
    project is the longest end of it.
    """

    groups: tuple[GroupId, ...] = _condition(
        "Only this group; repeatable.", "only this project (see `list`)", default=()
    )
    since: datetime | None = _condition(
        "Only turns that started at this time or later: 2026-03-01, 2026-03, 7d, 'last tuesday' "
        "(UTC without a zone).",
        "from then on: 2026-03-01, 2026-03, 7d, yesterday",
        "Since",
        "2026-03, 7d, last tuesday",
        time=_START,
    )
    until: datetime | None = _condition(
        "Only turns that started before the end of this time.",
        "to the end of then",
        "Until",
        "2026-03-31, yesterday",
        time=_END,
    )
    as_of: datetime | None = _condition(
        "What held at the end of this time: without later turns and facts, and without facts that "
        "had been invalidated.",
        "only what was known and held at the end of then",
        "As of",
        "2026-03",
        time=_END,
    )
    session: str | None = _condition(
        "Only turns of the session with this id, or the beginning of one.",
        "only this session: its id, or its beginning",
        "Session",
    )
    format: str | None = _condition(
        "Only turns of archives of this format; `turnetl formats` lists them.",
        title="Format",
        example="claude_code",
    )
    branch: str | None = _condition("Only turns on this git branch.", title="Git branch")
    tool: str | None = _condition(
        "Only turns in which this tool was called.", title="Tool", example="Bash"
    )
    file: str | None = _condition(
        "Only turns with a fact about this file: its path, or the end of it.",
        "only turns about this file: its path or its end",
        "File",
        "src/cart.py",
    )
    entity: str | None = _condition(
        "Only turns with a fact about the entity with this name.",
        "only turns about the entity with this name",
        "Entity",
    )
    label: str | None = _condition(
        "Only turns with a fact about an entity with this label: File, Error, Decision.",
        title="Label",
        example="Error",
    )
    relation: str | None = _condition(
        "Only turns with a fact with this relation: CHANGED, FAILED_WITH, PREFERS.",
        title="Relation",
        example="FAILED_WITH",
    )

    @property
    def selects_facts(self) -> bool:
        return any(
            condition is not None
            for condition in (self.file, self.entity, self.label, self.relation)
        )

    @property
    def is_empty(self) -> bool:
        return all(getattr(self, name) in (None, ()) for name in CONDITIONS)

    def check_times(self, named: Callable[[str], str]) -> None:
        """Check that some time lies between `since` and each end."""
        ends = {named("until"): self.until, named("as_of"): self.as_of}
        check_between(self.since, ends, named("since"))

    def stated(
        self,
        texts: Mapping[str, str],
        now: datetime,
        named: Callable[[str], str],
        shown: Callable[[str], str] = str,
    ) -> "Selection":
        """Return these conditions and those that texts state.

        Args:
            texts: by the name of the condition. An empty one states none; other names are ignored.
            now: the current time, to which texts such as `7d` are relative.
            named: as of `check_times`.
            shown: returns a text as a message repeats it.
        """
        values: dict[str, Any] = {name: text for name in CONDITIONS if (text := texts.get(name))}
        for name, text in values.items():
            if CONDITIONS[name].time is None:
                continue
            values[name] = CONDITIONS[name].read_time(text, now)
            if values[name] is None:
                raise BadUsage(
                    f"`{shown(text)}` is no time for {named(name)}: write it as {EXAMPLES}"
                )
        selection = replace(self, **values)
        selection.check_times(named)
        return selection


CONDITIONS: Mapping[str, ConditionDeclaration] = {
    one.name: one.metadata["condition"] for one in fields(Selection)
}


def fold(name: str) -> str:
    """Return a name in the form in which names are compared.

    That is Unicode's case folding of the composed text, composed again: `Straße` is `STRASSE`, and
    `é` is `e` with an accent. No language is assumed: `I` is `i`, as in English, and the Turkish
    letters with and without a dot remain letters of their own.
    """
    folded = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", folded)
