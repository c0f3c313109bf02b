"""Token counts in the forms in which agents record them, and their one meaning.

Input is without the cache, cache write and cache read are apart, and output includes reasoning: the
sum of these four is what a request used. Reasoning says how much of the output it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from turnetl.base import ids
from turnetl.base.model import MessageCounts, SubagentUsage

_TokenCount = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Tokens(NamedTuple):
    """Tokens of one or more requests. None: not recorded."""

    input: int = 0
    cache_write: int | None = None
    cache_read: int | None = None
    output: int = 0
    reasoning: int | None = None
    """Part of `output`."""


class Usage(msgspec.Struct, gc=False):
    """What an agent records of one request."""

    def tokens(self) -> Tokens:
        raise NotImplementedError


class CacheCreation(msgspec.Struct, gc=False):
    """Tokens written to the cache, by how long they stay there."""

    ephemeral_5m_input_tokens: _TokenCount | None = None
    ephemeral_1h_input_tokens: _TokenCount | None = None


class AnthropicUsage(Usage, gc=False):
    """Claude Code's: the input is without the cache; the output has thinking, uncounted."""

    input_tokens: _TokenCount | None = None
    cache_creation_input_tokens: _TokenCount | None = None
    cache_read_input_tokens: _TokenCount | None = None
    cache_creation: CacheCreation | None = None
    output_tokens: _TokenCount | None = None

    def tokens(self) -> Tokens:
        written = self.cache_creation_input_tokens
        if self.cache_creation is not None:
            written = greatest_usage(written, _sum(astuple(self.cache_creation)))
        return Tokens(
            self.input_tokens or 0,
            written,
            self.cache_read_input_tokens,
            self.output_tokens or 0,
        )


class OpenAIUsage(Usage, gc=False):
    """Codex's: the input includes the cache, the output includes reasoning."""

    input_tokens: _TokenCount | None = None
    cached_input_tokens: _TokenCount | None = None
    cache_write_input_tokens: _TokenCount | None = None
    output_tokens: _TokenCount | None = None
    reasoning_output_tokens: _TokenCount | None = None

    def tokens(self) -> Tokens:
        return _without_cache(
            self.input_tokens,
            self.cache_write_input_tokens,
            self.cached_input_tokens,
            self.output_tokens,
            self.reasoning_output_tokens,
        )


class GeminiUsage(Usage, gc=False):
    """Gemini CLI's: the input has the cache, but not what tools add; the output has no thoughts."""

    input: _TokenCount | None = None
    output: _TokenCount | None = None
    cached: _TokenCount | None = None
    thoughts: _TokenCount | None = None
    tool: _TokenCount | None = None

    def tokens(self) -> Tokens:
        output = (self.output or 0) + (self.thoughts or 0)
        tokens = _without_cache(self.input, None, self.cached, output, self.thoughts)
        return tokens._replace(input=tokens.input + (self.tool or 0))


class GeminiRunUsage(Usage, gc=False):
    """That of a whole run of Gemini CLI: the input includes the cache, thoughts have no count."""

    input_tokens: _TokenCount | None = None
    output_tokens: _TokenCount | None = None
    cached: _TokenCount | None = None

    def tokens(self) -> Tokens:
        return _without_cache(self.input_tokens, None, self.cached, self.output_tokens, None)


class OpenCodeCache(msgspec.Struct, gc=False):
    read: _TokenCount | None = None
    write: _TokenCount | None = None


class OpenCodeUsage(Usage, gc=False):
    """OpenCode's: the input is without the cache, the output without reasoning."""

    input: _TokenCount | None = None
    output: _TokenCount | None = None
    reasoning: _TokenCount | None = None
    cache: OpenCodeCache | None = None

    def tokens(self) -> Tokens:
        cache = self.cache or OpenCodeCache()
        output = (self.output or 0) + (self.reasoning or 0)
        return Tokens(self.input or 0, cache.write, cache.read, output, self.reasoning)


class PiUsage(Usage, rename="camel", gc=False):
    """Pi's: the input is without the cache; the output includes reasoning, uncounted."""

    input: _TokenCount | None = None
    output: _TokenCount | None = None
    cache_read: _TokenCount | None = None
    cache_write: _TokenCount | None = None

    def tokens(self) -> Tokens:
        return Tokens(self.input or 0, self.cache_write, self.cache_read, self.output or 0)


class AmpUsage(Usage, rename="camel", gc=False):
    """Amp's: the input is without the cache; the output includes reasoning, uncounted."""

    input_tokens: _TokenCount | None = None
    output_tokens: _TokenCount | None = None
    cache_creation_input_tokens: _TokenCount | None = None
    cache_read_input_tokens: _TokenCount | None = None

    def tokens(self) -> Tokens:
        written, read = self.cache_creation_input_tokens, self.cache_read_input_tokens
        return Tokens(self.input_tokens or 0, written, read, self.output_tokens or 0)


class KimiUsage(Usage, rename="camel", gc=False):
    """Kimi's: the input is without the cache; the output includes reasoning, uncounted."""

    input_other: _TokenCount | None = None
    output: _TokenCount | None = None
    input_cache_read: _TokenCount | None = None
    input_cache_creation: _TokenCount | None = None

    def tokens(self) -> Tokens:
        written, read = self.input_cache_creation, self.input_cache_read
        return Tokens(self.input_other or 0, written, read, self.output or 0)


class QwenUsage(Usage, rename="camel", gc=False):
    """Qwen Code's: the prompt includes the cache; the candidates have reasoning or not.

    The total tells which: it is that of the prompt and of all output.
    """

    prompt_token_count: _TokenCount | None = None
    candidates_token_count: _TokenCount | None = None
    thoughts_token_count: _TokenCount | None = None
    cached_content_token_count: _TokenCount | None = None
    total_token_count: _TokenCount | None = None

    def tokens(self) -> Tokens:
        candidates = self.candidates_token_count or 0
        output = (self.total_token_count or 0) - (self.prompt_token_count or 0)
        return _without_cache(
            self.prompt_token_count,
            None,
            self.cached_content_token_count,
            max(output, candidates),
            self.thoughts_token_count,
        )


class MessageTokens(msgspec.Struct, gc=False):
    """The usage of one API message, which an archive may repeat with growing counts."""

    usage: Usage
    model: str | None = None
    time: datetime | None = None

    def tokens(self) -> Tokens:
        return self.usage.tokens()

    def add(self, other: "MessageTokens") -> None:
        """Take in a repetition: of each recorded field the greatest value counts."""
        self.usage = greatest_usage(self.usage, other.usage)
        self.model = self.model or other.model
        time = other.time
        if time is not None and (self.time is None or time < self.time):
            self.time = time


MessageUsages = dict[str, MessageTokens]
"""By message id."""


def add_message(messages: MessageUsages, key: str, message: MessageTokens) -> None:
    """Record an API message once."""
    first = messages.setdefault(key, message)
    if first is not message:
        first.add(message)


def greatest(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(*map(greatest_usage, one, other))


def total(tokens: Iterable[Tokens]) -> Tokens:
    """Return the sum of each field; of no tokens zero, as far as it is always recorded."""
    sums = [_sum(values) for values in zip(*tokens, strict=True)]
    if not sums:
        return Tokens()
    return Tokens(sums[0] or 0, sums[1], sums[2], sums[3] or 0, sums[4])


def greatest_usage(one: Any, other: Any) -> Any:
    """Return the greatest of two counts, or of each field of two usages; None: not recorded."""
    if one is None or other is None:
        return one if other is None else other
    if not isinstance(one, msgspec.Struct):
        return max(one, other)
    if type(one) is not type(other) or one == other:
        return one
    return type(one)(*map(greatest_usage, astuple(one), astuple(other)))


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _without_cache(
    prompt: int | None,
    cache_write: int | None,
    cache_read: int | None,
    output: int | None,
    reasoning: int | None,
) -> Tokens:
    """Return the tokens of a request whose prompt includes the cache; a rest below 0 is none."""
    rest = (prompt or 0) - (cache_write or 0) - (cache_read or 0)
    return Tokens(max(rest, 0), cache_write, cache_read, output or 0, reasoning)


_Owner = tuple[str, str]
"""Digests of the subagent and of the session that started it."""


@dataclass(slots=True)
class SubagentMessages:
    """The API messages in no turn of one archive, each once."""

    _messages: dict[str, MessageTokens] = field(default_factory=dict)
    """By message id."""
    _owners: dict[str, _Owner] = field(default_factory=dict)

    def add(
        self,
        session: str | None,
        agent: str | None,
        *,
        started_by: str | None,
        key: str | None = None,
        message: MessageTokens,
    ) -> None:
        """Record a message once: it may be repeated with growing counts.

        `started_by` is the session whose agent started the subagent; None: the archive does not
        say. `key` is the id of the message; None: it is not repeated.
        """
        if key in self._owners:
            add_message(self._messages, key, message)
            return
        owner = ids.digest(session or "", agent or "")
        self._add(owner, started_by, key or f"{owner} {len(self._messages)}", message)

    def add_own(self, session: str | None, key: str | None, message: MessageTokens) -> None:
        """Record a message of the session's own agent that belongs to no turn, as `add` does."""
        self._add("", session, key or f"{session} {len(self._messages)}", message)

    def _add(self, owner: str, session: str | None, key: str, message: MessageTokens) -> None:
        self._owners.setdefault(key, (owner, ids.digest(session) if session else ""))
        add_message(self._messages, key, message)

    def usage(self) -> tuple[SubagentUsage, ...]:
        """Return the sums by subagent, model and UTC day, sorted."""
        places: dict[tuple[str, str, str, str], list[str]] = {}
        for key, message in self._messages.items():
            place = place_of(*self._owners[key], message.model, message.time)
            places.setdefault(place, []).append(key)
        return tuple(self._sum(places[place]) for place in sorted(places))

    def _sum(self, keys: list[str]) -> SubagentUsage:
        messages = [self._messages[key] for key in keys]
        owner, session = self._owners[keys[0]]
        tokens = [message.tokens() for message in messages]
        times = [message.time for message in messages if message.time is not None]
        counts = [
            MessageCounts(ids.message_digest(key), *one)
            for key, one in zip(keys, tokens, strict=True)
        ]
        return usage_of_messages(
            SubagentUsage(owner, messages[0].model, min(times, default=None), 0, 0, session), counts
        )


def place_of(
    subagent: str, session: str, model: str | None, time: datetime | None
) -> tuple[str, str, str, str]:
    """Return the sort key of an entry; its session counts only if it is of no subagent."""
    day = "" if time is None else time.date().isoformat()
    return subagent, "" if subagent else session, model or "", day


def usage_of_messages(entry: SubagentUsage, messages: list[MessageCounts]) -> SubagentUsage:
    sums = total(Tokens(*one[1:]) for one in messages)
    return replace(
        entry,
        input_tokens=sums.input,
        output_tokens=sums.output,
        cache_write_tokens=sums.cache_write,
        cache_read_tokens=sums.cache_read,
        reasoning_tokens=sums.reasoning,
        messages=tuple(sorted(messages)),
    )
