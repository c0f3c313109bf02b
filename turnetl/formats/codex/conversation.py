"""The turns of one rollout, built from prompts, texts, tool calls, events and tokens of requests.

A `token_count` says what the last request and the session used; it is repeated whenever the rate
limits change. Newer versions also write a `token_usage_record` for each response, and for
compaction only that. Counts may be lost with damaged lines. What a total has more than the one
before it and the last request is then one request, as far as that is certain: a process that
resumes or forks a session continues totals that this rollout may lack, and they start again at zero
when the context window is full.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from msgspec.structs import astuple

from turnetl.base import ids
from turnetl.base.model import SessionId
from turnetl.base.reason import SkipReason
from turnetl.formats.codex.calls import CodexCalls
from turnetl.formats.codex.prompts import (
    IMAGE,
    Prompt,
    PromptKind,
    Prompts,
    are_versions,
    without_context,
)
from turnetl.formats.codex.rows import CodexEntry, CodexItem, CodexRow
from turnetl.formats.codex.sessions import CodexSessions, is_unique, unique_id
from turnetl.formats.kit.turn_builder import TurnBuilder, extend
from turnetl.formats.kit.usage import MessageTokens, MessageUsages, OpenAIUsage, add_message
from turnetl.formats.port import RawTurn, parse_time

_Size = tuple[int | None, int | None]


class Request(NamedTuple):
    usage: OpenAIUsage
    response_id: str | None
    place: str
    """What tells it from other requests of its session; the same in a copy of its row."""
    is_lost: bool = False
    """Whether it stands for requests whose own rows are lost."""

    def key(self, session: str) -> str:
        """Return what identifies it in all archives."""
        return self.response_id or f"{session} {self.place}"


@dataclass(slots=True)
class Requests:
    """The requests of one rollout, each once."""

    _total: OpenAIUsage | None = None
    """What the session has used so far."""
    _recorded: Counter[_Size] = field(default_factory=Counter)
    """Records that no count repeated yet."""
    _counted: Counter[_Size] = field(default_factory=Counter)
    """Counts that no record repeated yet."""
    _has_records: bool = False
    _without_id: Counter[str] = field(default_factory=Counter)
    _base: OpenAIUsage | None = None
    """The total that the next one continues; None if it may continue another one."""
    _is_continuous: bool = True
    """Whether each total since the process started had at least the one before and the request."""

    def restart(self) -> None:
        """Expect the totals of another process, or of another session."""
        self._base, self._is_continuous = None, True

    def read(self, item: CodexItem, *, is_copied: bool) -> list[Request]:
        """Return the requests that a row reports and no other row did; lost ones as one, first."""
        if item.usage is not None:
            self._has_records = True
            found = [self._read_record(item, item.usage)]
        else:
            found = [self._read_lost(item, is_copied=is_copied), self._read_count(item)]
        return [request for request in found if request is not None]

    def _read_lost(self, item: CodexItem, *, is_copied: bool) -> Request | None:
        info = item.info
        if info is None or (total := info.total_token_usage) is None:
            return None
        before, self._base = self._base, None if is_copied or None in _size(total) else total
        last = info.last_token_usage
        if before is None or is_copied or last is None or total == before:
            return None
        lost = _between(before, total, last)
        known = [value for value in astuple(lost) if value is not None]
        self._is_continuous = self._is_continuous and min(known) >= 0
        # Records report requests that the counts leave out.
        if self._has_records or not self._is_continuous or not any(_size(lost)):
            return None
        return Request(lost, None, _place("lost", total, lost), is_lost=True)

    def _read_count(self, item: CodexItem) -> Request | None:
        usage = self._new_count(item)
        if usage is None:
            return None
        size = _size(usage)
        if self._recorded[size]:
            self._recorded[size] -= 1
            return None
        self._counted[size] += 1
        return Request(usage, None, _place("count", self._total, usage))

    def _read_record(self, item: CodexItem, usage: OpenAIUsage) -> Request | None:
        size = _size(usage)
        if self._counted[size]:
            self._counted[size] -= 1
            return None
        place = _place(f"record {item.turn_id}", None, usage)
        if item.response_id is None:
            # Two requests of a turn may use the same.
            self._without_id[place] += 1
            place = f"{place} {self._without_id[place]}"
        self._recorded[size] += 1
        return Request(usage, item.response_id, place)

    def _new_count(self, item: CodexItem) -> OpenAIUsage | None:
        """Return the usage in a `token_count`, unless it repeats the one before it."""
        if item.info is None:
            return None
        total, before = item.info.total_token_usage, self._total
        self._total = total or before
        if total is None or total != before:
            return item.info.last_token_usage or _difference(total, before)
        return None


def _difference(total: OpenAIUsage | None, before: OpenAIUsage | None) -> OpenAIUsage | None:
    if total is None:
        return None
    pairs = zip(astuple(total), astuple(before or OpenAIUsage()), strict=True)
    return OpenAIUsage(*(None if now is None else max(now - (then or 0), 0) for now, then in pairs))


def _between(before: OpenAIUsage, total: OpenAIUsage, last: OpenAIUsage) -> OpenAIUsage:
    """Return what a total has more than the one before and the last request, perhaps below 0."""
    values = zip(astuple(before), astuple(total), astuple(last), strict=True)
    rest = (
        None if then is None or now is None else now - then - (own or 0)
        for then, now, own in values
    )
    return OpenAIUsage(*rest)


def _size(usage: OpenAIUsage) -> _Size:
    return usage.input_tokens, usage.output_tokens


def _place(kind: str, total: OpenAIUsage | None, usage: OpenAIUsage) -> str:
    values = astuple(total) if total is not None else ()
    return ids.digest(kind, *map(str, values), "last", *map(str, astuple(usage)))


_RECENT = 4
"""Texts among which the one on the line before is."""

TextSource = Literal["event", "completed", "item"]
"""The kind of the row that holds a text: an event, a completed item or a response item."""


@dataclass(slots=True)
class _Text:
    index: int
    """In the texts of the turn."""
    sources: set[TextSource]
    line: int
    """The last of its rows."""


@dataclass(slots=True)
class AgentTexts:
    """Fills the list of a turn's texts, each once, although Codex writes most in several rows.

    Two rows of different kinds hold the same text if their texts are equal, or if they are on
    adjacent lines and versions of one. A text that the agent wrote twice is in two rows of each
    kind. The response item's text is kept, because it is what the model wrote.
    """

    texts: list[str]
    _by_text: defaultdict[str, list[_Text]] = field(default_factory=lambda: defaultdict(list))
    _recent: list[_Text] = field(default_factory=list)
    _supplements: list[str] = field(default_factory=list)

    def add(self, text: str, source: TextSource, line: int) -> bool:
        """Add a text from one source; return whether it is new."""
        known = next(self._known(text, source, line), None)
        if known is None:
            known = _Text(len(self.texts), {source}, line)
            self.texts.append(text)
            self._by_text[text].append(known)
            self._recent = [*self._recent[1 - _RECENT :], known]
            return True
        known.sources.add(source)
        known.line = line
        if source == "item" and self.texts[known.index] != text:
            self.texts[known.index] = text
            self._by_text[text].append(known)
        return False

    def _known(self, text: str, source: TextSource, line: int) -> Iterator[_Text]:
        """Yield the texts that a row may repeat, the most likely one first."""
        equal: Iterable[_Text] = self._by_text.get(text, ())
        yield from (one for one in equal if source not in one.sources)
        if source == "completed":
            # Migration writes a completed item twice, under two ids.
            yield from (one for one in equal if line - one.line == 1)
        for one in self._recent:
            is_adjacent = abs(line - one.line) <= 1 and source not in one.sources
            if is_adjacent and are_versions(self.texts[one.index], text):
                yield one

    def add_supplement(self, text: str) -> None:
        """Add a text that another text of the turn may contain."""
        self._supplements.append(text)

    def finish(self) -> None:
        texts = tuple(self.texts)
        self.texts += [
            supplement
            for supplement in dict.fromkeys(self._supplements)
            if not any(supplement in text for text in texts)
        ]
        self._supplements.clear()


@dataclass(slots=True)
class CodexTask:
    """Follows the events at the start and the end of tasks. Old versions write none."""

    turn_id: str | None = None
    in_review: bool = False
    """Whether a review runs: Codex writes the messages to its reviewer."""
    is_running: bool = False
    _has_prompt: bool = False
    """Whether the task has its prompt: the next one steers it."""

    @property
    def has_prompt(self) -> bool:
        """Whether a task is running and has its prompt."""
        return self.is_running and self._has_prompt

    def start(self, turn_id: str | None) -> None:
        """Start a task. The previous one may have no event at its end."""
        self._has_prompt = self._has_prompt and not self.is_running
        self.is_running, self.in_review = True, False
        self.turn_id = unique_id(turn_id)

    def end(self) -> None:
        self.is_running = self._has_prompt = self.in_review = False
        self.turn_id = None

    def add_prompt(self) -> bool:
        """Add a prompt; return whether it steers the running task."""
        is_steering = self.has_prompt
        self._has_prompt = True
        return is_steering


@dataclass(slots=True)
class CodexConversation:
    """Adds content to turns. Methods return None if a turn got content, else the reason."""

    builder: TurnBuilder = field(default_factory=TurnBuilder)
    calls: CodexCalls = field(init=False)
    turn: RawTurn | None = None
    """The current turn, or None before the first prompt."""
    cwd: str | None = None
    """The first working directory that the rollout names."""
    sessions: CodexSessions = field(default_factory=CodexSessions)
    task: CodexTask = field(default_factory=CodexTask)
    metadata: CodexItem = field(default_factory=CodexItem)
    """The last known folder, model, branch and version."""
    _is_metadata_new: bool = True
    prompts: Prompts = field(default_factory=Prompts)
    _texts: AgentTexts = field(default_factory=lambda: AgentTexts([]))
    _task_prompts: Counter[str] = field(default_factory=Counter)
    """Number of prompts, by the id of their task."""
    _prompt_time: datetime | None = None
    """The time on the row of the last prompt."""
    _item_time: datetime | None = None
    """The time in the last id that held one."""
    requests: Requests = field(default_factory=Requests)
    """The requests whose tokens were reported."""
    _reported_model: str | None = None
    """That of the last of them."""
    _responses: dict[str, MessageUsages] = field(default_factory=dict)
    """The usages with the first report of a response, by its id."""
    _subagent_calls: set[str] = field(default_factory=set)
    """Ids of the tool calls of a subagent: a resumed one repeats its rows."""

    def __post_init__(self) -> None:
        self.calls = CodexCalls(self.builder)

    @property
    def has_new_turn(self) -> bool:
        """Whether the agent has not done anything in the current turn yet."""
        turn = self.turn
        return turn is not None and not (turn.assistant_texts or turn.tool_calls or turn.closed_by)

    def update_metadata(self, item: CodexItem) -> None:
        metadata, self._is_metadata_new = self.metadata, True
        self.cwd = self.cwd or item.cwd
        metadata.cwd = item.cwd or metadata.cwd
        metadata.model = item.model or metadata.model
        metadata.git = item.git or metadata.git
        metadata.cli_version = item.cli_version or metadata.cli_version

    def extend(self, entry: CodexEntry) -> SkipReason | None:
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        extend(turn, entry.span, self.time(entry.row))
        if self._is_metadata_new:
            self._add_metadata(turn)
        return None

    def time(self, row: CodexRow) -> datetime | None:
        """Return the row's time; None on a copied row, which has the time of the fork."""
        return None if self.sessions.replaying else parse_time(row.timestamp)

    def add_item_time(self, row: CodexRow) -> None:
        """Take the turn's time from the id of an item that has no time of its own."""
        turn, time = self.turn, self.sessions.item_time(row.id)
        if turn is None or time is None:
            return
        if turn.ended_at is None and turn.started_at == self._prompt_time:
            turn.started_at = time
        turn.ended_at = self._item_time = time

    def add_prompt(
        self,
        entry: CodexEntry,
        kind: PromptKind,
        text: str,
        *,
        has_image: bool = False,
        turn_id: str | None = None,
    ) -> SkipReason | None:
        """Add a row that holds a prompt: it opens a turn, is held, or repeats a prompt."""
        text = without_context(text) or (IMAGE if has_image else "")
        if not text:
            return SkipReason.NO_TEXT
        prompt = Prompt(entry, kind, text, unique_id(turn_id) or self.task.turn_id, turn_id)
        if self.prompts.is_repeated(prompt, is_answered=not self.has_new_turn):
            return SkipReason.DUPLICATE
        # A row without the envelope is older than all events: no event repeats it.
        if kind == "message" and entry.row.payload is not None:
            self.prompts.held.append(prompt)
            return SkipReason.DUPLICATE
        own, inserted, is_held = self.prompts.take_held(prompt)
        self._open_each(own, entry)
        self.builder.counts.recount(SkipReason.DUPLICATE, SkipReason.UNCONFIRMED, len(inserted))
        return self._open_turn(prompt, {kind, "message"} if is_held else {kind})

    def open_held(self, entry: CodexEntry | None = None) -> None:
        """Open a turn at each held message: the agent responds in `entry`, or none will."""
        has_prompt = self.has_new_turn or self.task.has_prompt
        is_due = entry is not None or self.task.is_running
        prompts, inserted = self.prompts.take_all(lacks_prompt=is_due and not has_prompt)
        self._open_each(prompts, entry)
        self.builder.counts.recount(SkipReason.DUPLICATE, SkipReason.UNCONFIRMED, len(inserted))

    def start_task(self, turn_id: str | None) -> None:
        """Start a task. Its prompt may precede it if no task was running."""
        if self.task.is_running:
            self.open_held()
            self.prompts.end_task()
        self.task.start(turn_id)
        self.prompts.add_turn_id(self.task.turn_id)
        if self.has_new_turn:
            self.identify(self.task.turn_id)

    def end_task(self) -> None:
        self.task.end()
        self.prompts.end_task()
        self.calls.end_task()

    def _open_each(self, prompts: list[Prompt], entry: CodexEntry | None) -> None:
        """Open turns at messages that were counted as duplicates when they were read."""
        for prompt in prompts:
            self._open_turn(prompt, {"message"})
            # Two rows may share a line, which is counted after both.
            if entry is None or prompt.entry.span.line != entry.span.line:
                self.builder.counts.recount(SkipReason.DUPLICATE, None, 1)

    def _open_turn(self, prompt: Prompt, kinds: set[PromptKind]) -> SkipReason | None:
        is_answered = not self.has_new_turn
        self._texts.finish()
        self.calls.begin_turn()
        if not self.task.is_running:
            self.calls.end_task()
        self.builder.counts.steering += self.task.add_prompt()
        row, span = prompt.entry.row, prompt.entry.span
        turn = self.turn = self.builder.open(prompt.text, span, previous=self.turn)
        self._texts, self._is_metadata_new = AgentTexts(turn.assistant_texts), True
        # A row without the envelope has no time of its own; it is not older than the last known.
        known = (self._item_time or self.sessions.start) if row.payload is None else None
        self._prompt_time = parse_time(row.timestamp) or known
        self._assign_session(turn, None)
        self.identify(prompt.turn_id)
        self.prompts.remember(prompt, turn, kinds, is_answered=is_answered)
        return self.extend(prompt.entry)

    def identify(self, turn_id: str | None) -> None:
        """Identify the current turn by its task, if it has no id and the task's id is unique."""
        turn = self.turn
        if turn is None or turn.native_id or turn_id is None or not is_unique(turn_id):
            return
        count = self._task_prompts[turn_id]
        self._task_prompts[turn_id] = count + 1
        turn.native_id = f"{turn_id}:{count}" if count else turn_id
        turn.prompt_id = turn_id
        self._assign_session(turn, turn_id)

    def add_text(self, entry: CodexEntry, text: str, source: TextSource) -> SkipReason | None:
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        if not text.strip():
            return SkipReason.NO_TEXT
        is_new = self._texts.add(text, source, entry.span.line)
        turn.closed_by = None if is_new else turn.closed_by
        self.extend(entry)
        return None if is_new else SkipReason.DUPLICATE

    def add_supplement(self, entry: CodexEntry, text: str) -> SkipReason | None:
        self._texts.add_supplement(text)
        return self.extend(entry)

    def add_call(self, entry: CodexEntry) -> SkipReason | None:
        turn = self.turn
        if turn is None:
            self.builder.counts.tool_calls += 1
            return SkipReason.PREAMBLE
        self.calls.add(turn, entry.item)
        turn.closed_by = None
        return self.extend(entry)

    def add_result(self, entry: CodexEntry) -> SkipReason | None:
        self.calls.add_result(self.turn, entry.item, self.time(entry.row))
        return self.extend(entry)

    def complete_call(self, entry: CodexEntry, *, is_item: bool = False) -> SkipReason | None:
        """Complete a call with the event or the item at its end.

        An item may be the only row of a call: of a script, or of a client that writes no others.
        An event is the only row of a script's call.
        """
        item, turn = entry.item, self.turn
        if self.calls.complete(item):
            return self.extend(entry)
        if not is_item and not self.calls.in_script:
            return SkipReason.EVENT
        if turn is None:
            return SkipReason.PREAMBLE
        if not self.calls.add_item(turn, item, entry.span.line, self.time(entry.row)):
            return SkipReason.EVENT
        turn.closed_by = None
        return self.extend(entry)

    def add_subagent_usage(self, entry: CodexEntry) -> None:
        """Add the tokens of a subagent's request; those of a copied row count in its parent."""
        is_copied, own = self.sessions.replaying, self.sessions.own
        for request in self.requests.read(entry.item, is_copied=is_copied):
            if not is_copied:
                self.builder.subagents.add(
                    own,
                    None,
                    started_by=self.sessions.started_by,
                    key=request.key(own or ""),
                    message=self._tokens(entry, request),
                )

    def count_subagent_call(self, item: CodexItem) -> None:
        """Count a tool call of a subagent once. That of a copied row counts in its parent."""
        name = item.call_id or item.id
        if self.sessions.replaying or name in self._subagent_calls:
            return
        if name is not None:
            self._subagent_calls.add(name)
        self.builder.counts.tool_calls += 1

    def add_usage(self, entry: CodexEntry) -> SkipReason | None:
        """Add the tokens of a request, unless other rows reported them, and of lost ones."""
        requests = self.requests.read(entry.item, is_copied=self.sessions.replaying)
        turn, own = self.turn, self.sessions.own
        for request in requests:
            tokens = self._tokens(entry, request)
            if turn is None:
                self.builder.subagents.add_own(own, request.key(own or ""), tokens)
            else:
                # The turn that reported a response first has its tokens.
                usages = turn.usage
                if request.response_id is not None:
                    usages = self._responses.setdefault(request.response_id, usages)
                add_message(usages, request.key(turn.session_id), tokens)
        if not requests:
            return SkipReason.TOKEN_USAGE
        return SkipReason.PREAMBLE if turn is None else None

    def _tokens(self, entry: CodexEntry, request: Request) -> MessageTokens:
        model = self.metadata.model
        if request.is_lost and model != self._reported_model:
            # Some of it may be that of the model before.
            return MessageTokens(request.usage, None, self.time(entry.row))
        self._reported_model = model
        return MessageTokens(request.usage, model, self.time(entry.row))

    def finish(self) -> None:
        self.open_held()
        self.calls.end_task()
        self._texts.finish()

    def _add_metadata(self, turn: RawTurn) -> None:
        metadata, self._is_metadata_new = self.metadata, False
        turn.cwd = metadata.cwd or turn.cwd
        turn.model = metadata.model or turn.model
        turn.app_version = metadata.cli_version or turn.app_version
        turn.git_branch = (metadata.git and metadata.git.branch) or turn.git_branch

    def _assign_session(self, turn: RawTurn, turn_id: str | None) -> None:
        session, turn.started_at = self.sessions.assign_session(turn_id, self._prompt_time)
        turn.session_id = SessionId(session)
        turn.parent_session_id = self.sessions.parent(session)
