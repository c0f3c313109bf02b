"""Markdown: a file per session with links to the files of entities, and an index.

What an archive says is text: in fenced blocks, or with every character escaped that could be
markup. Nothing of it is a link, an image or HTML. Every file system can store the names of the
files, which are unique also without upper case.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnetl.base import ids
from turnetl.base.control_characters import displayed_text
from turnetl.base.edit_outline import without_outline
from turnetl.base.model import AgentCall, Entity, Fact, Turn, TurnId
from turnetl.base.text import format_minute
from turnetl.episode_text.conversation import from_turn
from turnetl.episode_text.intents import intent
from turnetl.transfer.content import ExportContent, ExportedSession, ExportedTurn

INDEX = "index.md"
_MARKUP = re.compile(r"[\\`*_\[\]<>#!|~&@:$]|^[-+=]|(?<=www)\.", re.IGNORECASE)
"""Characters that make markup in a line: also what makes a list or a rule at its beginning, and
what makes a link without brackets."""
_NUMBER = re.compile(r"^(\d+)(?=[.)])")
"""The number of a list."""
_FENCES = re.compile("`{3,}")
_TITLE_CHARS = 100
_RESULT_CHARS = 2_000
"""Characters of the result of a tool call that are exported; JSONL has all that the lake has."""


def to_markdown(content: ExportContent) -> dict[str, bytes]:
    paths = {entity.uuid: entity_file(entity) for entity in content.entities}
    files = {INDEX: _index(content, paths)}
    turn_links: dict[str, str] = {}
    for session in content.sessions:
        path = session_file(session)
        files[path] = _session(session, content, paths)
        turn_links |= {one.turn.turn_id: f"../{path}#{_anchor(one.turn)}" for one in session.turns}
    for entity in content.entities:
        files[paths[entity.uuid]] = _entity(entity, content, paths, turn_links)
    return {name: f"{text}\n".encode("utf-8", "replace") for name, text in files.items()}


def inline(text: str, limit: int = _TITLE_CHARS) -> str:
    """Return a text on one line in which no character is markup."""
    line = " ".join(displayed_text(text).split())
    cut = line if len(line) <= limit else f"{line[: limit - 1]}…"
    return _NUMBER.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", cut))


def fenced(text: str) -> str:
    """Return a text in a block that it cannot end."""
    shown = displayed_text(text)
    longest = max((len(found[0]) for found in _FENCES.finditer(shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _index(content: ExportContent, paths: Mapping[str, str]) -> str:
    lines = ["# Export of turnetl"]
    group = ""
    for session in content.sessions:
        if session.group_id != group:
            group = session.group_id
            lines += ["", f"## {inline(group)}", ""]
        lines.append(f"- {_link(_session_title(session), session_file(session))}")
    if content.entities:
        lines += ["", "## Entities", ""]
        lines += [f"- {_link(one.name, paths[one.uuid])}" for one in content.entities]
    return "\n".join(lines)


def _session(session: ExportedSession, content: ExportContent, paths: Mapping[str, str]) -> str:
    first = session.turns[0].turn
    lines = [
        f"# {inline(_session_title(session))}",
        "",
        f"- group: {inline(session.group_id)}",
        f"- session: {inline(session.session_id)}",
        f"- archive: {inline(first.archive, 1_000)}",
    ]
    for exported, title in zip(session.turns, _titles(session), strict=True):
        lines += ["", *_turn(exported, title, content, paths)]
    return "\n".join(lines)


def _titles(session: ExportedSession) -> Iterator[str]:
    before = None
    for exported in session.turns:
        turn = from_turn(exported.turn)
        yield intent(turn, before)
        before = turn


def _turn(
    exported: ExportedTurn, title: str, content: ExportContent, paths: Mapping[str, str]
) -> Iterator[str]:
    turn = exported.turn
    yield f'<a id="{_anchor(turn)}"></a>'
    yield ""
    yield f"## {format_minute(turn.started_at)} {inline(title)}".rstrip()
    yield ""
    yield f"Turn {inline(turn.turn_id)}, lines {turn.first_line} to {turn.last_line}."
    yield from _part("Prompt", [turn.user_text])
    yield from _part("While the agent worked", [*turn.steering, *turn.user_answers])
    yield from _steps(turn.agent_calls)
    yield from _part("Answer", [turn.assistant_text])
    facts = content.facts_by_turn.get(turn.turn_id, ())
    if facts:
        yield from ("", "### Facts", "")
        yield from (_fact_line(fact, content, paths) for fact in facts)
    if mentioned := content.mentioned.get(turn.turn_id):
        named = [content.entity_by_uuid[uuid] for uuid in mentioned]
        yield from ("", "### Other entities", "")
        yield from (f"- {_link(one.name, f'../{paths[one.uuid]}')}" for one in named)


def _part(title: str, texts: Iterable[str]) -> Iterator[str]:
    filled = [text for text in texts if text.strip()]
    if filled:
        yield from ("", f"### {title}")
    for text in filled:
        yield from ("", fenced(text))


def _steps(calls: Sequence[AgentCall]) -> Iterator[str]:
    if calls:
        yield from ("", "### Steps")
    for one in calls:
        call, step = one.call, one.step
        by = f", {inline(step.by)}" if step else ""
        failed = " (failed)" if call.is_error else ""
        yield from (
            "",
            f"{inline(call.name)}{by}{failed}:",
            "",
            fenced(without_outline(call.input)),
        )
        if call.result.strip():
            yield from ("", fenced(_shortened(call.result)))


def _shortened(result: str) -> str:
    omitted = len(result) - _RESULT_CHARS
    return result if omitted <= 0 else f"{result[:_RESULT_CHARS]}\n[… {omitted:,} characters more]"


def _entity(
    entity: Entity,
    content: ExportContent,
    paths: Mapping[str, str],
    turn_links: Mapping[str, str],
) -> str:
    lines = [f"# {inline(entity.name)}", "", f"- group: {inline(entity.group_id)}"]
    if entity.labels:
        lines.append(f"- labels: {', '.join(map(inline, entity.labels))}")
    if entity.summary.strip():
        lines += ["", fenced(entity.summary)]
    if links := _turn_links(content.mentioned_in.get(entity.uuid, ()), turn_links):
        lines += ["", f"Named in {links}."]
    facts = content.facts_by_entity.get(entity.uuid, ())
    if facts:
        lines += ["", "## Facts", ""]
    for fact in facts:
        links = _turn_links(fact.turns, turn_links)
        lines.append(_fact_line(fact, content, paths) + (f" ({links})" if links else ""))
    return "\n".join(lines)


def _turn_links(turns: Iterable[TurnId], turn_links: Mapping[str, str]) -> str:
    return ", ".join(f"[turn]({turn_links[turn]})" for turn in turns if turn in turn_links)


def _fact_line(fact: Fact, content: ExportContent, paths: Mapping[str, str]) -> str:
    ends = [content.entity_by_uuid[uuid] for uuid in (fact.source, fact.target)]
    links = " → ".join(_link(end.name, f"../{paths[end.uuid]}") for end in ends)
    since = f", since {format_minute(fact.valid_at)}" if fact.valid_at else ""
    until = f", until {format_minute(fact.invalid_at)}" if fact.invalid_at else ""
    return f"- {inline(fact.text, 1_000)} ({inline(fact.relation)}: {links}{since}{until})"


def _link(title: str, target: str) -> str:
    """Return a link to a file of the export, whose name needs no escapes."""
    return f"[{inline(title)}]({target})"


def _session_title(session: ExportedSession) -> str:
    first = session.turns[0].turn
    title = next(filter(None, _titles(session)), "")
    return f"{format_minute(first.started_at)} {title}".strip()


def _anchor(turn: Turn) -> str:
    return f"turn-{re.sub('[^0-9a-z-]', '', turn.turn_id.lower())}"


_MAX_CHARS = 60


def session_file(session: ExportedSession) -> str:
    """Return the path of a session below the folder of the export: `sessions/<date>-….md`."""
    return f"sessions/{session_name(session)}.md"


def session_name(session: ExportedSession) -> str:
    """Return the name of a session's file: its date, its group and a digest."""
    start = session.turns[0].turn.started_at
    date = "no-time" if start is None else f"{start:%Y-%m-%d}"
    unique = ids.digest(session.group_id, session.session_id)[:12]
    return f"{date}-{slug(session.group_id)}-{unique}"


def entity_file(entity: Entity) -> str:
    """Return the path of an entity below the folder of the export: `entities/<name>-….md`."""
    unique = ids.digest(entity.group_id, entity.uuid)[:12]
    return f"entities/{slug(entity.name)}-{unique}.md"


def slug(text: str) -> str:
    """Return lower-case letters, digits and single hyphens; never empty, never a reserved name.

    What follows it in a file name keeps it from being one of Windows' names of devices.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:_MAX_CHARS].strip("-") or "unnamed"
