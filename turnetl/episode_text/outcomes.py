"""The outcome of a turn: what came of it, in a line.

It follows from the episode text of the turn: from what its agent states last, and from its steps,
which refute what they do not bear out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnetl.base.text import plural
from turnetl.episode_text.conversation import (
    Closing,
    Conversation,
    ConversationStep,
    closing,
    paragraphs,
    sentences,
)
from turnetl.episode_text.intents import ASKS_FOR, MAX_CHARS, capital, ends, fit, whole_sentences

_QUESTION_CHARS = 60
_INTERRUPTED = "[Request interrupted by user"


def outcome(turn: Conversation) -> str:
    """Return what came of a turn: what its agent states, and what its rows show.

    A statement that the rows refute is left out: an edit that failed, a test that does not pass.
    """
    answer, rows = ends(turn.answer), _Rows.of(turn)
    end = closing(answer)
    stated = _conclusion(answer, end, rows)
    shown = "; ".join(rows.phrases(stated))
    if (stated or shown) and end.question and not (rows.edited or rows.commits):
        # What is only offered was not done.
        asked, room = sentences(end.question)[0], MAX_CHARS - len(stated) - len(shown)
        asks = f"asks: {asked}" if len(asked) < min(room, _QUESTION_CHARS) else "asks how to go on"
        shown = "; ".join(filter(None, [shown, asks]))
    if rows.is_interrupted:
        begun = shown or (_silent(answer).removeprefix(_SILENT) if answer else "")
        return fit("; ".join(filter(None, ["Interrupted", begun])))
    if not stated:
        stated = f"Asks: {end.question}" if end.question and not shown else ""
    elif ASKS_FOR.match(stated):
        stated = f"Asks: {stated}"
    if not stated:
        return fit(capital(shown) or _silent(answer))
    rest = f" ({shown})" if shown else ""
    return fit(fit(stated, max(60, MAX_CHARS - len(rest))) + rest, MAX_CHARS + 20)


_EDITS = re.compile(
    r"(?:multi_?|notebook)?edit|(?:multi_?)?replace|write|update|patch|apply_(?:patch|diff)"
    r"|code_action|(?:write|create|edit|delete|insert|search|str|string)_(?:to_|and_|_)?"
    r"(?:file|replace|edit)\w{0,20}",
    re.IGNORECASE,
)
_RUNS = re.compile(r"bash|shell|exec|terminal|command|(?:^|_)run_|(?:^|_)test", re.IGNORECASE)
_TESTS = re.compile(
    r"\b(?:pytest|vitest|jest|mocha|rspec|phpunit|ctest|tox|go test|cargo (?:nextest|test)|(?:npm"
    r"|pnpm|yarn|bun|mix|dotnet|swift|gradlew?|mvn|make|mise|just|task)(?: run)? \S{0,12}test)"
)
_FAILS = re.compile(
    r"(?:^failed\b|\bFAIL(?:ED|URES?)?\b|\b[1-9]\d{0,5} (?:failed|failures?|errors?)\b)"
)
_PASSES = re.compile(r"\b(?:ok|PASS(?:ED)?|passed|passing|success(?:ful)?)\b")
_COMMITTED = re.compile(r"\[[^\]\s]{1,100}(?: \([^)]{1,30}\))? ([0-9a-f]{7,12})\]")
_PULL = re.compile(r"/(?:pull|merge_requests)/(\d{1,6})")
_REJECTED = re.compile(
    r"failed: .{0,80}(?:(?:rejected|declined|denied) by the user|requested permissions?"
    r"|permission for this tool|haven't granted|user (?:rejected|declined|denied|cancelled))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What the steps of a turn show."""

    steps: int = 0
    edited: tuple[str, ...] = ()
    unedited: tuple[str, ...] = ()
    """Files whose edits all failed."""
    rejected: int = 0
    tests_pass: bool | None = None
    commits: tuple[str, ...] = ()
    pull: str = ""
    is_pushed: bool = False
    is_interrupted: bool = False

    @classmethod
    def of(cls, turn: Conversation) -> "_Rows":
        edits = [step for step in turn.steps if _EDITS.fullmatch(step.tool)]
        edited = dict.fromkeys(_file(step) for step in edits if not _failed(step))
        failed = dict.fromkeys(_file(step) for step in edits if _failed(step))
        pulls = (
            found[1]
            for step in turn.steps
            if " pr create" in step.input and (found := _PULL.search(step.outcome))
        )
        return cls(
            steps=len(turn.steps),
            edited=tuple(filter(None, edited)),
            unedited=tuple(file for file in failed if file and file not in edited),
            rejected=sum(bool(_REJECTED.match(step.outcome)) for step in turn.steps),
            tests_pass=_test_result(turn.steps),
            commits=tuple(
                found[1]
                for step in turn.steps
                if "git" in step.input and (found := _COMMITTED.search(step.outcome))
            ),
            pull=next(pulls, ""),
            is_pushed=any("git push" in one.input and not one.is_error for one in turn.steps),
            is_interrupted=any(_INTERRUPTED in text for text in turn.steering[-1:]),
        )

    def phrases(self, stated: str) -> Iterator[str]:
        """Yield what is not stated."""
        files = [file for file in self.edited if file not in stated]
        if any("[REDACTED" in file for file in files):
            yield f"edited {plural(len(files), 'file')}"
        elif files:
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield f"edited {files[0]}{more}"
        if self.unedited and not self.edited:
            yield f"edit of {self.unedited[0]} {'not permitted' if self.rejected else 'failed'}"
        elif self.rejected:
            yield f"{plural(self.rejected, 'step')} not permitted"
        if self.tests_pass is not None and not _TESTS_CLAIM.search(stated):
            yield "tests pass" if self.tests_pass else "tests fail"
        if self.commits and self.commits[-1] not in stated:
            yield f"committed {self.commits[-1]}"
        if self.pull and self.pull not in stated:
            yield f"opened pull request {self.pull}"
        if self.is_pushed and "push" not in stated.lower():
            yield "pushed"


def _failed(step: ConversationStep) -> bool:
    """Return whether the last of the equal calls of a step failed."""
    return step.is_error and step.outcome.rpartition(", then ")[2].startswith("failed")


def _file(step: ConversationStep) -> str:
    path = step.input.split(" :: ", 1)[0].split(" (by ", 1)[0].strip()
    return path.replace("\\", "/").rsplit("/", 1)[-1][:50] if "\n" not in path else ""


def _test_result(steps: Sequence[ConversationStep]) -> bool | None:
    """Return whether the tests pass at the end of a turn; None: none ran, or it is not certain."""
    results = []
    for step in steps:
        if _RUNS.search(step.tool) and _TESTS.search(step.input):
            last = step.outcome.rpartition(", then ")[2]
            failed = _failed(step) or _FAILS.search(last)
            results.append(False if failed else True if _PASSES.search(last) else None)
    if not results or results[-1] is not False:
        return results[-1] if results else None
    return None if True in results else False


_ANNOUNCES = re.compile(
    r"(?:now,? |next,? |first,? |then |(?:okay|ok|good|great|perfect|sure)[,.!] )*"
    r"(?:let me|let's|i'll|i will|i'm going to|i need to|i should|now i|next i|applying|checking"
    r"|looking(?![^.]{0,80},)|running)\b",
    re.IGNORECASE,
)
_AGREES = re.compile(r"(?:understood|got it|makes sense)\b", re.IGNORECASE)
_FILLER = re.compile(
    r"(?:done|perfect|great|good|excellent|all (?:done|set)|ok(?:ay)?|yes|no|sure|right|summary"
    r"|(?:(?:ah|oh|yes|yeah),? ){0,3}(?:you're|that's) (?:absolutely |exactly )?(?:right|correct)"
    r"|(?:that|this) makes sense|to be (?:\w{1,12} )?clear|fixed|i was (?:being )?(?:imprecise"
    r"|wrong)|(?:good|great) (?:question|catch|point|example|idea)|thanks?|(?:yes, )?exactly(?:"
    r" right)?|(?:i )?found (?:it|the \w{1,12})|(?:root )?cause found|there(?:'s| is) the \w{1,12}"
    r"|(?:now )?i (?:found|found and fixed|fixed|see|understand) (?:it|the (?:issue|problem|bug"
    r"|cause))|the (?:issue|problem|cause) is (?:now )?clear(?: now)?|all (?:\w{1,20} ){0,3}"
    r"(?:tests?|checks?|lint)(?: and \w{1,20}){0,2} (?:pass|are)[^;]{0,30})?\W*",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:created|added|updated|wrote|written|changed|fixed|implemented|removed|deleted|renamed"
    r"|moved|edited|replaced|refactored|appended|saved|reverted|completed|extracted|introduced"
    r"|switched|bumped|converted|split|consolidated|simplified|rewrote|migrated|extended)\b",
    re.IGNORECASE,
)
_TESTS_CLAIM = re.compile(r"\btests?\b.{0,40}\b(?:pass|green|succeed)", re.IGNORECASE)
_DONE = re.compile(
    rf"{_CLAIM.pattern}|\b(?:now|committed|pushed|opened|merged|rebased|because|cause|found"
    r"|no longer|works|returns|passe[sd]|called|replied|listed|ran|compared|reviewed|posted|sent"
    r"|installed|configured|picked up)\b",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?:done|all (?:tests|done|set|checks)|perfect|excellent|i've|i have|fixed|summary|committed"
    r"|pushed|both|successfully|the [^.]{1,60} (?:is|are) now)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:good|great|perfect|excellent|nice|awesome|ok(?:ay)?|done|sure|alright|got it|understood"
    r"|i see)\s?[,.!:\u2013\u2014-]+\s+|here(?:'s| is| are)\b[^:]{0,80}:\s+(?=\S))+",
    re.IGNORECASE,
)
"""Before a statement: no part of it."""
_ASIDE = re.compile(
    r"(?:[-\u2013\u2014,:;] let me\b|^here(?:'s| is| are)\b[^:]{0,80}:$)", re.IGNORECASE
)
"""In a sentence about what the agent says next."""
_CONCLUDES = re.compile(
    r"(?:overall|in (?:short|summary)|to sum(?:mari[sz]e| up)|conclusion|bottom line|tl;?dr"
    r"|verdict|(?:the )?(?:root cause|short answer|answer) (?:is|was)|root cause:)\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^#{1,6} +|\*\*")
_COURTESY = re.compile(
    r"you(?:'re| are) (?:very )?welcome|glad (?:i could|to) help|no problem|feel free|let me know"
    r"|(?:if|please) [^.]{0,60}\b(?:feel free|let me know)|enjoy\b|have a (?:great|nice)",
    re.IGNORECASE,
)
_MIN_WORDS, _SHORT_TITLE = 4, 40
_SHORT_ANSWER = 800
"""Characters of an answer that says first what was asked."""


def _conclusion(answer: str, end: Closing, rows: _Rows) -> str:
    """Return the statements of the last message that say what was done or found."""
    parts = [*paragraphs(answer)]
    begun = (
        at + 1 for at, one in enumerate(parts[:-1]) if _ANNOUNCES.match(one) or _AGREES.match(one)
    )
    start = max(begun, default=0)
    opened = (at for at, one in enumerate(parts) if at >= start and _OPENS.match(one))
    last = parts[next(opened, start) :]
    headings = {_MARKS.sub("", line).strip() for line in answer.splitlines() if line[:1] == "#"}
    stated = [
        one
        for part in last
        for one in whole_sentences(part)
        if one not in headings and _states(one, rows)
    ]
    ended = [one for one in whole_sentences(end.outcome) if _states(one, rows)]
    if rows.unedited and not rows.edited:
        return _joined(ended) if end.question else ""
    if not stated or sum(map(len, stated)) < MAX_CHARS:
        return _joined(stated)
    if not rows.steps and not end.question and len(answer) < _SHORT_ANSWER:
        return _joined(stated)
    has_changed = (
        rows.edited or rows.commits or rows.is_pushed or _DONE.match(_CLAIMANT.sub("", stated[0]))
    )
    if rows.rejected and end.question:
        return _joined(ended or stated)
    if not has_changed:
        # An answer begins with what was asked, unless it has a conclusion.
        first = (at for at, one in enumerate(stated) if _CONCLUDES.match(one))
        return _joined(stated[next(first, 0) :])
    done = (one for one in stated if _DONE.search(one) and len(one.split()) > _MIN_WORDS)
    return _joined(stated[stated.index(next(done, stated[0])) :])


_CLAIMANT = re.compile(r"(?:i|we)(?:'ve| have)? |successfully ", re.IGNORECASE)


def _joined(stated: Sequence[str]) -> str:
    """Return the first statements that fit, without the colon that announces a list or code."""
    title = ""
    for one in stated:
        is_begun = title.endswith(":") or len(title) < _SHORT_TITLE
        if not is_begun and len(title) + len(one) > MAX_CHARS:
            break
        # A heading has no mark at its end.
        mark = ";" if title[-1:].isalnum() or title[-1:] in tuple(")\"'`") else ""
        title = f"{title}{mark} {one}".strip() if title else capital(_without_lead(one))
    return title.rstrip(":; ")


def _without_lead(sentence: str) -> str:
    lead = _LEAD.match(sentence)
    return sentence[lead.end() :] if lead else sentence


def _states(sentence: str, rows: _Rows) -> bool:
    """Return whether a sentence states something that the rows do not refute."""
    if sentence.endswith(("?", "\uff1f")) or _FILLER.fullmatch(sentence) or sentence[0] in "|>":
        return False
    known = (_ANNOUNCES.match, _AGREES.match, _COURTESY.match, _ASIDE.search)
    if any(matches(sentence) for matches in known):
        return False
    if rows.unedited and not rows.edited and _CLAIM.search(sentence):
        return False
    if rows.tests_pass is False and _TESTS_CLAIM.search(sentence):
        return False
    return len(sentence.split()) >= _MIN_WORDS or bool(_DONE.search(sentence))


_SILENT = "Announced only: "
_CONDENSED = re.compile(r"\[[\w+#.-]{1,20}, \d{1,9} lines: (.*)\]")


def _silent(answer: str) -> str:
    """Return what an answer is that states nothing."""
    last = next(iter([*paragraphs(answer)][-1:]), "")
    if not last:
        lines = (line.strip("`~ ") for line in answer.splitlines())
        said = next((line for line in lines if " " in line), "No answer")
        return _CONDENSED.sub(r"\1", said)
    if _COURTESY.match(last):
        return "Courtesy only"
    return f"{_SILENT}{last}" if _ANNOUNCES.match(last) else last
