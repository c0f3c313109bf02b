"""What changed in a definition: parameters, values, conditions, calls, in the lines themselves."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from turnetl.base.edit_outline import BECOMES, PARAMETER, RETURNS
from turnetl.parsing.definitions import is_comment

_VALUE = 140
"""Characters of a line that is told."""
_LONGEST_LINE, _MAX_LINES = 400, 60
_MAX_DETAILS, _MAX_CALLS = 3, 3
_ALIKE = 0.7
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w{2,40}(?:\.[A-Za-z_]\w{1,40}){0,2})\(")
_NO_CALLS = frozenset(
    {"for", "while", "switch", "return", "catch", "func", "function", "def", "class", "elif"}
    | {"print", "println", "len", "str", "int", "append", "range", "super", "isinstance", "and"}
    | {"not", "assert", "string", "make", "list", "dict", "set", "tuple", "bool", "require", "if"}
    | {
        "console.log",
        "fmt.Println",
        "fmt.Printf",
        "fmt.Sprintf",
        "Some",
        "Err",
        "await",
        "slog.Any",
    }
    | {"fmt.Fprintf", "fmt.Errorf", "errors.New", "errors.Is", "errors.As", "context.Background"}
    | {"slog.String", "filepath.Join", "path.join", "os.path.join", "JSON.stringify", "String"}
    | {"error", "fmt.Fprintln", "fmt.Fprint", "map", "filter", "foreach", "echo", "sizeof"}
)
"""Keywords, and calls that say nothing about a change."""
_TRAILING_COMMENT = re.compile(r"(?:^|\s)(?://|#|--)(?:\s|[a-z]{3,20}:).*$|\s/\*.*\*/$")
_DOCSTRING_MARKS = ('"""', "'''")
_WORD = re.compile(r"\w")
_LAYOUT = re.compile(r"[\s,;'\"`]+")
"""What a formatter adds or removes."""
_KEY = re.compile(r"([\w.\[\]\"'$@-]{1,80}?)['\"]?\s{0,20}(?::(?!:)|[:+-]?=(?![=>]))")
_KEYWORD = re.compile(
    r"(?:\} ?)?(if|else if|elif|elsif|unless|guard|while|for|return|raise|throw|assert|switch|case"
    r"|match|except|catch|with)\b|([\w.]+)\("
)
_CONDITION = re.compile(r"(?:\} ?)?(?:else )?(?:if|elif|elsif|unless|guard|while|assert(?=[ (]))\b")
_EXIT = re.compile(
    r"(?:return|raise|throw|panic|exit|die|break|continue|yield)\b|os\.Exit|sys\.exit"
)
_HANDLER = re.compile(r"(?:\} ?)?(?:except|catch|rescue|finally)\b")
_TYPE_FIRST = re.compile(
    r"(?:final |const |[A-Z]\w*[<\[ ]"
    r"|(?:int|long|char|bool|boolean|double|float|string|void|auto|size_t|std)\b)"
)
_GO_PARAMETER = re.compile(r"\w+( [\w.*\[\]]+)")
_SELF = frozenset(("self", "cls", "&self", "&mut self", "mut self", "this"))
_PLAIN_EXIT = re.compile(
    r"(?:return|break|continue)(?: (?:nil|null|None|\w*[eE]rr|false|true|self|this)\b,?){0,3};?$"
)
_ERROR_CHECK = re.compile(r"(?:\} ?)?(?:else )?if \(?\w*[eE]rr(?:or)?(?: [!=]=+ (?:nil|null))?\)?$")


def layout_free(line: str) -> str:
    """Return the code of a line, without its layout; empty: it has none."""
    text = line.strip()
    return "" if is_comment(text) else _LAYOUT.sub("", _TRAILING_COMMENT.sub("", text))


def differ(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether any line with a word is in one text only, whatever its indentation."""
    sides = [Counter(filter(_WORD.search, map(str.strip, lines))) for lines in (old, new)]
    return old != new and sides[0] != sides[1]


def distinct_lines(
    old: Sequence[str], new: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of code only in the old text, those only in the new, and new comments."""
    codes = _codes(old), _codes(new)
    if "".join(codes[0]) == "".join(codes[1]):
        codes = [""] * len(old), [""] * len(new)
    words = [Counter(filter(_WORD.search, side)) for side in codes]
    lost, gained = words[0] - words[1], words[1] - words[0]
    known = {*map(str.strip, old)}
    comments = [
        text
        for line, code in zip(new, codes[1], strict=True)
        if (text := line.strip()) not in known and not code
    ]
    return [*_taken(old, codes[0], lost)], [*_taken(new, codes[1], gained)], comments


def _codes(lines: Iterable[str]) -> list[str]:
    """Return the code of each line; those of a docstring have none."""
    codes, is_inside = [], False
    for line in lines:
        text = line.strip()
        is_mark = text.lstrip("rbu").startswith(_DOCSTRING_MARKS)
        codes.append("" if is_inside or is_mark else layout_free(text))
        if is_mark or is_inside:
            is_inside ^= sum(map(text.count, _DOCSTRING_MARKS)) == 1
    return codes


def comment_change(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the only line of which the comment changed, before and after, marked as a comment."""
    lines = [[*map(str.strip, side)] for side in (old, new)]
    was, now = (
        [line for line in side if line not in other] for side, other in (lines, reversed(lines))
    )
    if len(was) == len(now) == 1 and max(len(was[0]), len(now[0])) <= _VALUE:
        yield f"# {was[0]}{BECOMES}{now[0]}"


def _taken(lines: Sequence[str], codes: Sequence[str], wanted: Counter[str]) -> Iterator[str]:
    for line, code in zip(lines, codes, strict=True):
        if wanted[code] > 0:
            wanted[code] -= 1
            yield line.strip()


def details(
    name: str,
    bodies: tuple[Sequence[str], Sequence[str]],
    changed: tuple[list[str], list[str]],
    *,
    is_closed: bool,
) -> Iterator[str]:
    """Yield what changed in a definition, the most telling first.

    `bodies` has all its lines before and after, `changed` those that differ. What it calls and
    what it does no longer is said only if the bodies are the whole definition.
    """
    lost, gained = ([*map(_uncommented, lines[:_MAX_LINES])] for lines in changed)
    if len(lost) <= 1 and len(gained) <= 1:
        was, now = "".join(lost), "".join(gained)
        if max(len(was), len(now)) <= _VALUE and not _signatures(name, bodies):
            yield f"{was}{BECOMES}{now}"
            return
    found = [*_of_signature(name, bodies, lost, gained)]
    pairs = [*_pairs(lost, gained)]
    # A value is searched more often than another line.
    values = [pair for pair in pairs if _KEY.match(pair[0]) and not _KEYWORD.match(pair[0])]
    found += [BECOMES.join(pair) for pair in values]
    found += [f"{BECOMES}{line}" for line in _telling(gained)]
    # It may stand elsewhere in what is not known.
    found += [f"{line}{BECOMES}" for line in _telling(lost)] if is_closed else []
    found += [BECOMES.join(pair) for pair in pairs if pair not in values]
    short = [one for one in found if max(map(len, one.split(BECOMES))) <= _VALUE]
    yield from islice(short, _MAX_DETAILS)
    # What a told line calls need not be told again.
    shown = [*islice(short, _MAX_DETAILS)]
    sides = [" ".join(one.split(BECOMES)[side] for one in shown) for side in (0, 1)]
    if is_closed and (words := _call_words(*bodies, *sides)):
        yield words
    elif not short:
        line = next((x for x in gained if len(x) <= _VALUE and re.search(r"\w{3}", x)), "")
        if line:
            yield f"{BECOMES}{line}"


def _uncommented(line: str) -> str:
    """Return a line without the comment behind it; what a text of it holds is none."""
    plain = _TRAILING_COMMENT.sub("", line).rstrip()
    return plain if plain and all(plain.count(mark) % 2 == 0 for mark in "\"'`") else line


def _call_words(old: Iterable[str], new: Iterable[str], lost: str, gained: str) -> str:
    """Return the calls of a definition that only one side has, without those of told lines."""
    before, after = (dict.fromkeys(_calls(lines)) for lines in (old, new))
    gone = (name for name in before if name not in after and name not in lost)
    come = (name for name in after if name not in before and name not in gained)
    words = [f"-{name}" for name in islice(gone, _MAX_CALLS)]
    return " ".join([*words, *(f"+{name}" for name in islice(come, _MAX_CALLS))])


def _calls(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not is_comment(line) and len(line) <= _LONGEST_LINE:
            names = (name for name in _CALL.findall(line) if name not in _NO_CALLS)
            yield from (name for name in names if not name.endswith(("Error", "Exception")))


def _pairs(lost: list[str], gained: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that became others, and remove them from both lists."""
    heads = [[_head(line) for line in lines] for lines in (lost, gained)]
    found = []
    for was, head in zip([*lost], heads[0], strict=True):
        is_one = bool(head) and all(side.count(head) == 1 for side in heads)
        for now in gained:
            if (is_one and _head(now) == head) or (_head(now) == head and _are_alike(was, now)):
                found.append((was, now))
                lost.remove(was)
                gained.remove(now)
                break
    yield from (pair for pair in found if max(map(len, pair)) <= _VALUE)


def _head(line: str) -> str:
    """Return the name to which a line gives a value, or the keyword with which it begins."""
    found = _KEYWORD.match(line) or _KEY.match(line)
    return next(filter(None, found.groups()), "") if found else ""


def _are_alike(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


def _telling(lines: Sequence[str]) -> Iterator[str]:
    """Yield conditions, each with what it leads to, handlers of errors, and what is returned."""
    is_told = False
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if _CONDITION.match(line):
            is_exit = _EXIT.match(following) is not None
            is_told = is_exit
            condition = line.rstrip(" {:")
            is_exit = is_exit and not _PLAIN_EXIT.match(following)
            told = f"{condition}: {_closed(following)}" if is_exit else condition
            if is_exit or not _ERROR_CHECK.match(condition):
                yield told if len(told) <= _VALUE else condition
        elif _HANDLER.match(line):
            yield line.rstrip(" {:")
        elif _EXIT.match(line) and not _PLAIN_EXIT.match(line) and not is_told:
            yield _closed(line.rstrip(";"))
        else:
            is_told = False


def _closed(line: str) -> str:
    """Return a line that opens a bracket with the mark of what is left out."""
    ends = {"(": ")", "[": "]", "{": "}"}
    return f"{line}…{ends[line[-1]]}" if line[-1:] in ends else line


def _signatures(name: str, bodies: Iterable[Sequence[str]]) -> list[str]:
    """Return the signatures before and after, if both are known and they differ."""
    found = [_signature(name, lines) for lines in bodies]
    return found if all(found) and len({*map(layout_free, found)}) > 1 else []


def _signature(name: str, lines: Sequence[str]) -> str:
    """Return the text from the parameters on to the body; empty: there are none."""
    word = re.compile(
        rf"(?<![\w.]){re.escape(re.split(r'::|[.#]', name)[-1])}(?:[<\[][^(]{{0,60}})?\s?\("
    )
    for index, line in enumerate(lines[:12]):
        if len(line) > _LONGEST_LINE or is_comment(line):
            continue
        if start := word.search(line):
            text = line[start.end() - 1 :]
            for more in lines[index + 1 : index + 12]:
                if text.count("(") <= text.count(")"):
                    break
                text += f" {more.strip()}"
            return text if text.count("(") <= text.count(")") else ""
    return ""


def _of_signature(
    name: str,
    bodies: tuple[Sequence[str], Sequence[str]],
    lost: list[str],
    gained: list[str],
) -> Iterator[str]:
    """Yield the parameters and the result that changed, and remove their lines from the lists."""
    signatures = _signatures(name, bodies)
    if not signatures:
        return
    for text, lines in zip(signatures, (lost, gained), strict=True):
        plain = layout_free(text)
        lines[:] = [
            line
            for line in lines
            if not (
                layout_free(line) in plain
                or text.startswith(line[-30:])
                or plain in layout_free(line)
            )
        ]
    (was, was_result), (now, now_result) = map(_parts, signatures)
    old = {_parameter(one): one for one in was if one not in now}
    new = {_parameter(one): one for one in now if one not in was}
    if len(old) == len(new) == 1:
        old, new = {"": next(iter(old.values()))}, {"": next(iter(new.values()))}
    for key in dict.fromkeys((*old, *new)):
        sides = [f"{PARAMETER}{side[key]}" if key in side else "" for side in (old, new)]
        yield BECOMES.join(sides)
    if was_result != now_result:
        yield f"{RETURNS}{was_result or 'nothing'}{BECOMES}{RETURNS}{now_result or 'nothing'}"


def _parts(signature: str) -> tuple[list[str], str]:
    """Return the parameters of a signature, and what it says about the result."""
    depth, start, found, end = 0, 1, list[str](), len(signature)
    for index, char in enumerate(signature):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 or (depth == 1 and char == ","):
            found.append(" ".join(signature[start:index].split()))
            start = index + 1
        if depth == 0:
            end = index + 1
            break
    result = re.split(r"\{|=>|:$|;", signature[end:].strip())[0]
    for index in range(len(found) - 2, -1, -1):
        # In Go, `a, b int` are two of the same type.
        if found[index].isidentifier() and (of := _GO_PARAMETER.fullmatch(found[index + 1])):
            found[index] += of.group(1)
    named = [one for one in found if _WORD.search(one) and one not in _SELF]
    return named, result.strip().removeprefix("->").removeprefix(":").strip(" :")


def _parameter(text: str) -> str:
    """Return the name of a parameter: before its type, or in some languages after it."""
    plain = text.partition("=")[0]
    before, colon, _ = plain.partition(":")
    words = re.findall(r"[\w$]+", before)
    if not words:
        return text
    return str(words[-1] if colon or len(words) == 1 or _TYPE_FIRST.match(plain) else words[0])
