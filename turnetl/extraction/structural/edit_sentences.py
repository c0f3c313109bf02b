"""What changed in a definition, in one sentence that is understood without the edit."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from turnetl.base.edit_outline import (
    ADDED,
    BECOMES,
    CHANGED,
    DELETED,
    PARAMETER,
    RENAMED,
    RETURNS,
    EditedPart,
)
from turnetl.episode_text import prose

_AROUND = 3
"""Words that are shown before and after those that changed in a long line."""
_SHORT_LINE, _SHOWN_NAMES, _SHOWN, _CODE, _MIN_NAME = 100, 4, 2, 140, 4
_COMMENT = re.compile(r"^(?://|#|--|\*|/\*|\"\"\")")
_VAGUE = re.compile(
    r"^(?:now\b|let\b|let's|this\b|that\b|it\b|its\b|these\b|those\b|they\b|he\b|so\b|but\b|and\b"
    r"|also\b|then\b|next\b|first\b|i\b|i'|we\b|you\b|here\b|there\b|however"
    r"|the (?:issue|problem|error|fix)\b|(?:note|todo|fixme|nolint)\b"
    r"|good|great|perfect|done|yes|no\b|ok|which\b|because\b|since\b|if\b)|\?$|:$|: 1"
    r"|\b(?:should|would|could|will|going to|need(?:s|ed)?|let me|want|we|can just)\b",
    re.IGNORECASE,
)
_SETTING_LINE = re.compile(
    r"^([\w.\"'$@/-]{1,80})\s{0,20}(?::=|[:=](?!=))\s{0,20}(\S.{0,140}?),?;?$"
)
_DECLARED = re.compile(
    r"^(?:(?:export|public|private|protected|internal|static|final|const|var|let|val|readonly|pub)"
    r"\s+){0,5}(?:(?!(?:if|elif|else|return|for|while|case|when|assert)\b)[\w<>\[\].?*&]{1,60}\s+)?"
    r"(?=[\w.$]+\s*[:=](?!=))"
)
_EXITS = r"(?:return|raise|throw|panic|exit|die|break|continue|yield|os\.Exit|sys\.exit)\b"
_CONDITION = re.compile(
    rf"^(?:\}} ?)?(?:else )?(if|elif|elsif|unless|guard|while|assert(?=[ (]))\b ?(.{{1,140}}?)"
    rf"(?:: ({_EXITS}.{{0,140}}))?$"
)
_HANDLER = re.compile(
    r"^(?:\} ?)?(except|catch|rescue|finally)\b ?\(?([\w., |]{0,80}?)\)?(?: as \w+)?$"
)
_TEST_NAME = re.compile(r"(?:\w+\.)?(?:Test[A-Z_]|test_)")
_TRAILING_COMMENT = re.compile(
    r"\s(?://|#|--)(?!\s?(?:nolint|noqa|type:|pragma|eslint|ts-|fmt:|mypy:|nosec))[^\"'`]*$"
)
_BOUND = re.compile(r"(?:(?:const|let|var|val) )?([\w, ]{1,80}?) ?:?= ?(\S.*)")
_MARKS = re.compile(r"^[\s>]*(?:[-*+] (?:\[[ x]\] )?|\d{1,3}[.)] )?")
_PLAIN_WORD = re.compile(r"[(\"'“]?[A-Za-z]?[a-z]{2,20}[.,;:!?)\"'”]{0,3}")
_PROSE_WORDS, _TYPO = 4, 0.75
_LITERAL = re.compile(r"[\"'][^\"'\n]{3,}[\"']")
_DOES = re.compile(r"(`.{1,200}?` (?:now|no longer) (?:checks|calls|handles|returns) )`")
_VERBS = {"return": "returns", "raise": "raises", "throw": "throws"}


def is_trivial(detail: str, *, fixes: bool = False) -> bool:
    """Whether only comments, layout, a typo or the name of a local variable changed.

    What fixes a failure may be that a value is no longer dropped, by the name `_`.
    """
    before, separator, after = detail.partition(BECOMES)
    is_comment = bool(separator) and all(
        not line or _COMMENT.match(line) for line in (before, after)
    )
    is_slight = bool(before and after) and _is_slight(before, after, fixes=fixes)
    return not detail or is_comment or is_slight or detail.startswith("# ")


def _is_slight(before: str, after: str, *, fixes: bool) -> bool:
    sides = [_TRAILING_COMMENT.sub("", line) for line in (before, after)]
    if len({"".join(side.split()).rstrip(",;") for side in sides}) == 1:
        return True
    was, now = map(_BOUND.fullmatch, sides)
    if was is not None and now is not None and was[1] != now[1] and was[2] == now[2]:
        return not (fixes and "_" in re.findall(r"\w+", f"{was[1]} {now[1]}"))
    return is_typo(before, after)


def is_typo(before: str, after: str) -> bool:
    """Whether two lines of prose differ in the spelling of one plain word."""
    words = before.split(), after.split()
    changed = [pair for pair in zip(*words, strict=False) if pair[0] != pair[1]]
    plain = sum(_PLAIN_WORD.fullmatch(word) is not None for word in words[0])
    if len(words[0]) != len(words[1]) or len(changed) != 1 or plain < _PROSE_WORDS:
        return False
    is_plain = all(map(_PLAIN_WORD.fullmatch, changed[0]))
    return is_plain and SequenceMatcher(None, *changed[0]).ratio() >= _TYPO


def joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return what two edits of a definition did together; what the second takes back is none."""
    pairs: list[tuple[str, str]] = []
    for detail in (*first, *second):
        before, separator, after = detail.partition(BECOMES)
        origin = next((one for one in pairs if separator and one[1] == before), None)
        if origin is not None:
            pairs.remove(origin)
            before = origin[0]
        if separator and before != after:
            pairs.append((before, after))
    plain = [_Calls.of(one) for one in (*first, *second) if BECOMES not in one]
    calls = _Calls()
    for one in plain:
        calls = calls.then(one)
    values = dict.fromkeys(f"{before}{BECOMES}{after}" for before, after in pairs)
    return tuple(filter(None, (*values, calls.detail)))


class _Calls:
    """What a definition no longer calls, what it calls now, and a comment that it got."""

    def __init__(
        self, lost: Iterable[str] = (), gained: Iterable[str] = (), comment: str = ""
    ) -> None:
        self.lost, self.gained = tuple(lost), tuple(gained)
        self.comment = comment

    @classmethod
    def of(cls, detail: str) -> "_Calls":
        calls, _, comment = f" {detail}".partition(" # ")
        words = calls.split()
        lost, gained = ([x[1:] for x in words if x[:1] == sign] for sign in "-+")
        return cls(lost, gained, "" if _VAGUE.search(comment) else comment)

    def then(self, later: "_Calls") -> "_Calls":
        lost = [*self.lost, *(name for name in later.lost if name not in self.gained)]
        gained = [*(name for name in self.gained if name not in later.lost), *later.gained]
        return _Calls(
            dict.fromkeys(name for name in lost if name not in gained),
            dict.fromkeys(name for name in gained if name not in self.lost),
            self.comment or later.comment,
        )

    @property
    def detail(self) -> str:
        words = [*(f"-{name}" for name in self.lost), *(f"+{name}" for name in self.gained)]
        return " ".join([*words, f"# {self.comment}"] if self.comment else words)

    @property
    def phrase(self) -> str:
        gained, lost = (
            listed([f"`{call}`" for call in calls[:_SHOWN_NAMES]])
            for calls in (self.gained, self.lost)
        )
        instead = f" in place of {lost}" if lost and gained else ""
        return (
            f"now calls {gained}{instead}" if gained else f"no longer calls {lost}" if lost else ""
        )


def sentence(name: str, details: Sequence[str], *, fixes: bool = False) -> str:
    """Return what changed in a definition and why; empty: no more than comments or layout."""
    told = [detail for detail in details if not is_trivial(detail, fixes=fixes)]
    told = sorted(_without_moved(told), key=_is_plain_addition)
    statements = dict.fromkeys(filter(None, (_statement(name, detail) for detail in told)))
    if not statements:
        return ""
    text, *others = islice(statements, _SHOWN)
    for other in others:
        does = _DOES.match(text)
        if does is not None and other.startswith(does[1]):
            text += f" and {other.removeprefix(does[1])}"
            continue
        is_same = all(one.startswith(f"`{name}` ") for one in (text, other))
        rest = other.removeprefix(f"in `{name}`, ")
        text += f", and {rest.removeprefix(f'`{name}` ')}" if is_same else f"; {rest}"
    comments = (_Calls.of(detail).comment for detail in details if BECOMES not in detail)
    comment = next(filter(None, comments), "")
    return f"{text}: {comment}" if comment else text


def _without_moved(details: Sequence[str]) -> Iterator[str]:
    """Yield the details without lines and conditions that other lines of the edit have, too."""
    pairs = [detail.partition(BECOMES)[::2] for detail in details]
    for detail, (before, after) in zip(details, pairs, strict=True):
        line = before or after
        is_whole = BECOMES not in detail or bool(before and after)
        found = None if is_whole else _CONDITION.match(line)
        part = found.group(2).strip() if found and not found.group(3) else line
        others = (pair[bool(before)] for pair in pairs if pair != (before, after))
        if is_whole or not any(part in other for other in others):
            yield detail


def _is_plain_addition(detail: str) -> bool:
    """Whether a line is new and has no text of its own: `errors.New("no price")` says more."""
    before, separator, _ = detail.partition(BECOMES)
    return bool(separator) and not before and _LITERAL.search(detail) is None


def phrase(change: EditedPart) -> str:
    """Return what a change did, without the file; empty: that is not known."""
    if change.kind == CHANGED:
        return sentence(
            change.name,
            [change.detail.removeprefix("# ") if BECOMES in change.detail else change.detail],
            fixes=True,
        )
    verbs = {ADDED: "added", DELETED: "removed", RENAMED: f"renamed to `{change.detail}`"}
    return f"`{change.name}` was {verbs[change.kind]}" if change.kind in verbs else ""


def fix_phrase(parts: Sequence[EditedPart], failed: str) -> str:
    """Return what an edit did about a test or an error; empty: that cannot be told."""
    named = [part for part in parts if is_named(part, failed)]
    is_other = any(_TEST_NAME.match(part.name) for part in parts)
    if not named and (is_other or len({part.name for part in parts}) > 1):
        return ""
    return next(filter(None, map(phrase, named or parts)), "")


def is_definition(part: EditedPart, name: str) -> bool:
    """Whether a name is that of the definition that an edit changed, with its class or without."""
    return len(name) >= _MIN_NAME and f".{part.name}".endswith(
        (f".{name}", f"::{name}", f"#{name}")
    )


def is_named(part: EditedPart, text: str) -> bool:
    """Whether a text names the definition that an edit changed."""
    name = re.split(r"::|[.#]", part.name)[-1]
    return (
        len(name) >= _MIN_NAME and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    )


def _statement(name: str, detail: str) -> str:
    before, separator, after = detail.partition(BECOMES)
    if not separator:
        words = _Calls.of(detail).phrase
        return f"`{name}` {words}" if words else ""
    for sign, of_part in ((PARAMETER, _of_parameter), (RETURNS, _of_result)):
        if before.startswith(sign) or after.startswith(sign):
            sides = (code(side.removeprefix(sign)) for side in (before, after))
            return f"`{name}` {of_part(*sides)}"
    if not (before and after) and (words := next(_of_line(before or after, bool(after)), "")):
        return f"`{name}` {words}"
    return value_change(name, before, after)


def _of_parameter(before: str, after: str) -> str:
    if before and after:
        return f"takes `{after}` in place of `{before}`"
    return f"has the new parameter `{after}`" if after else f"no longer takes `{before}`"


def _of_result(before: str, after: str) -> str:
    if before == "nothing":
        return f"now returns `{after}`"
    return (
        f"no longer returns `{before}`"
        if after == "nothing"
        else f"returns `{after}` in place of `{before}`"
    )


def _of_line(line: str, is_added: bool) -> Iterator[str]:
    """Yield what a line of code does, now or no longer."""
    now = "now" if is_added else "no longer"
    if found := _CONDITION.match(line):
        word, condition, leads_to = found.groups()
        condition = code(condition.strip())
        if condition[:1] == "(" and condition[-1:] == ")":
            condition = condition[1:-1]
        under = "unless" if word in {"unless", "guard"} else "if"
        if leads_to:
            verb, _, value = leads_to.rstrip(";").partition(" ")
            if verb in _VERBS and value:
                yield f"{now} {_VERBS[verb]} `{code(value)}` {under} `{condition}`"
            yield f"{now} stops {under} `{condition}`"
        yield f"{now} checks `{condition}`"
    elif found := _HANDLER.match(line):
        what = f"`{found.group(2).strip()}`" if found.group(2).strip() else "errors"
        yield f"{now} handles {what}"
    elif (verb := line.partition(" ")[0]) in _VERBS and " " in line:
        yield f"{now} {_VERBS[verb]} `{code(line.partition(' ')[2].rstrip(';'))}`"


def value_change(name: str, before: str, after: str) -> str:
    """Return the sentence about a line, of which only one may be given."""
    was, now = (_SETTING_LINE.match(_DECLARED.sub("", line)) for line in (before, after))
    if was and now and was.group(1) == now.group(1):
        key = was.group(1).strip("\"'")
        place = "" if name.endswith(key) else f"`{code(key)}` in "
        return f"{place}`{name}` changed from `{code(was.group(2))}` to `{code(now.group(2))}`"
    if before and after:
        before, after = _without_equal_ends(before, after)
    return f"in `{name}`, {whole_line(before, after)}"


def _without_equal_ends(before: str, after: str) -> tuple[str, str]:
    """Return two long lines from the words on in which they differ, and to those."""
    if max(len(before), len(after)) <= _SHORT_LINE:
        return before, after
    words = [re.split(r"(?<=[\s(,])", line) for line in (before, after)]
    most = min(map(len, words)) - 1
    first = next((at for at in range(most) if words[0][at] != words[1][at]), most)
    first = max(0, first - _AROUND)
    last = next((at for at in range(most - first) if words[0][-1 - at] != words[1][-1 - at]), 0)
    last = max(0, last - _AROUND)
    return tuple(  # type: ignore[return-value]
        f"{'…' if first else ''}{''.join(line[first : len(line) - last])}{'…' if last else ''}"
        for line in words
    )


def whole_line(before: str, after: str) -> str:
    if before and after:
        return f"`{code(before)}` became `{code(after)}`"
    return f"`{code(after)}` was added" if after else f"`{code(before)}` was removed"


def prose_line(line: str) -> str:
    """Return a line of a document without its marks; empty: it is no sentence."""
    text = _MARKS.sub("", line).replace("**", "").replace("`", "").strip()
    plain = sum(_PLAIN_WORD.fullmatch(word) is not None for word in text.split())
    is_prose = plain >= _PROSE_WORDS and text[:1] not in "|<{#"
    return prose.shorten(text.rstrip(":"), _CODE) if is_prose else ""


def code(text: str) -> str:
    return prose.shorten(text.replace("`", "'").removesuffix(" {"), _CODE)


def listed(words: Sequence[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last
