"""Canaries in texts as people and tools paste them, and texts that only look like these.

A file of texts has the sections `=== words` (of which passwords are made), `=== syntaxes` and
`=== lookalikes`; in a section, `== family` heads texts of one line. In a text, `⏎` is a line break
and `⟨mark⟩` a drawn value: a secret of `pasted_values.MARKS` (with a pattern of its own as in
`⟨key={h32}⟩`), a key file (`⟨pem⟩`, `⟨pem cut⟩`, `⟨openssh cut⟩`, `⟨pem tail⟩`; each of its lines
gets what stands around the mark, or `⟨pem|\\n⟩` joins the lines), or what is no secret: `⟨user⟩`,
`⟨n⟩` (number of a line), `⟨h40⟩`, `⟨uuid⟩`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cost import at_most
from benchmarks.redaction.pasted_values import KEY_FILES, MARKS, Drawing
from turnetl.redact import SecretRedactor

TEXTS = Path(__file__).with_name("pasted.txt")
MAX_LEAKS_PERCENT = 5.0
MAX_CUT_PERCENT = 2.0
_MARK = re.compile("⟨([^⟨⟩=|]+)(?:=([^⟨⟩|]+))?(?:\\|([^⟨⟩]+))?⟩")
_KEY_FILE = re.compile("⟨((?:pem|openssh)[ a-z]*)(?:\\|([^⟨⟩]+))?⟩")
_MIN_CHARS = 20
"""Characters of a line of a key that may not remain."""
_SHOWN_CHARS = 180


@dataclass(frozen=True)
class Texts:
    words: Sequence[str]
    syntaxes: Sequence[tuple[str, str]]
    """Family and text."""
    lookalikes: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Pasted:
    family: str
    syntax: str
    text: str
    kind: str = ""
    """Class of its first secret."""
    secrets: Sequence[str] = ()
    """None of them may remain."""


@dataclass
class _Filling:
    """The secrets that were put into one text."""

    drawing: Drawing
    kinds: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)

    def fill(self, text: str) -> str:
        return "\n".join(map(self._line, text.split("⏎")))

    def _line(self, line: str) -> str:
        if match := _KEY_FILE.search(line):
            return self._key_file(line, match)
        return _MARK.sub(lambda match: self._value(match, 0), line)

    def _key_file(self, line: str, match: re.Match[str]) -> str:
        lines, secret = self.drawing.key_lines(match[1])
        self.kinds.append(KEY_FILES)
        self.secrets += [key_line for key_line in secret if len(key_line) >= _MIN_CHARS]
        before, after = line[: match.start()], line[match.end() :]
        first = self.drawing.random.randint(1, 90)
        return "\n".join(
            self._around(before, number) + key_line + self._around(after, number)
            for number, key_line in enumerate([match[2].join(lines)] if match[2] else lines, first)
        )

    def _around(self, text: str, number: int) -> str:
        return _MARK.sub(lambda match: self._value(match, number), text)

    def _value(self, match: re.Match[str], number: int) -> str:
        mark, pattern, joint = match.groups()
        if mark not in MARKS:
            fixed = {"user": self.drawing.user, "n": str(number)}
            return fixed.get(mark) or self.drawing.pattern(f"{{{mark}}}")
        kind, draw = MARKS[mark]
        secret = self.drawing.pattern(pattern) if pattern else draw(self.drawing)
        self.kinds.append(kind)
        self.secrets.append(secret.replace(" ", joint) if joint else secret)
        return self.secrets[-1]


def read(path: Path) -> Texts:
    """Return the texts of a file of the form above."""
    sections: dict[str, list[tuple[str, str]]] = {"words": [], "syntaxes": [], "lookalikes": []}
    section, family = "words", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            section = line[4:]
        elif line.startswith("== "):
            family = line[3:]
        elif line:
            sections[section].append((family, line))
    words = [word for _, line in sections["words"] for word in line.split()]
    return Texts(words, sections["syntaxes"], sections["lookalikes"])


def draw(texts: Texts, each: int, seed: int) -> tuple[list[Pasted], list[Pasted]]:
    """Return the canaries, `each` of every syntax, and the lookalikes."""
    return (
        [*_drawn(texts.syntaxes, texts.words, each, seed)],
        [*_drawn(texts.lookalikes, texts.words, each, seed)],
    )


def _drawn(
    lines: Sequence[tuple[str, str]], words: Sequence[str], each: int, seed: int
) -> Iterator[Pasted]:
    for family, syntax in lines:
        for number in range(each):
            filling = _Filling(Drawing(f"{seed} {number} {syntax}", words))
            text = filling.fill(syntax)
            yield Pasted(family, syntax, text, "".join(filling.kinds[:1]), filling.secrets)


def check(path: Path, each: int, seed: int) -> Iterator[bool]:
    """Print the leaks by class, family and syntax and the lookalikes that are cut."""
    canaries, lookalikes = draw(read(path), each, seed)
    clean = _redacted(canaries)
    leaked = [
        (canary, text)
        for canary, (text, _) in zip(canaries, clean, strict=True)
        if any(secret in text for secret in canary.secrets)
    ]
    _print_rates("class", [c.kind for c in canaries], [c.kind for c, _ in leaked])
    _print_rates("family", [c.family for c in canaries], [c.family for c, _ in leaked])
    _print_syntaxes("leaked of", leaked, each)
    results = zip(lookalikes, _redacted(lookalikes), strict=True)
    cut = [(lookalike, text) for lookalike, (text, is_cut) in results if is_cut]
    _print_rates("lookalikes", [c.family for c in lookalikes], [c.family for c, _ in cut])
    _print_syntaxes("cut of", cut, each)
    yield at_most(f"% of {len(canaries)} leak", _percent(leaked, canaries), MAX_LEAKS_PERCENT)
    cut_name = f"% of {len(lookalikes)} lookalikes cut"
    yield at_most(cut_name, _percent(cut, lookalikes), MAX_CUT_PERCENT)


def _redacted(pasted: Sequence[Pasted]) -> list[tuple[str, bool]]:
    """Return each redacted text, each an archive of its own, and whether something was cut."""
    results = SecretRedactor().redact_many([[one.text] for one in pasted])
    return [("".join(result.texts), bool(result.counts[0])) for result in results]


def _percent(some: Sequence[object], all_: Sequence[object]) -> float:
    return 100 * len(some) / len(all_)


def _print_rates(title: str, rows: Sequence[str], found: Sequence[str]) -> None:
    totals, counts = Counter(rows), Counter(found)
    print(f"\n{title:<34}{'texts':>7}{'found':>7}{'share':>9}")
    for row, total in totals.items():
        print(f"  {row:<32}{total:7}{counts[row]:7}{100 * counts[row] / total:7.1f} %")
    share = f"{100 * len(found) / len(rows):7.1f} %"
    print(f"  {'all':<32}{len(rows):7}{len(found):7}{share}")


def _print_syntaxes(title: str, found: Sequence[tuple[Pasted, str]], each: int) -> None:
    """Print each syntax with the first text that was found for it."""
    counts = Counter(one.syntax for one, _ in found)
    examples = {one.syntax: (one, text) for one, text in reversed(found)}
    print()
    for syntax, number in counts.most_common():
        one, text = examples[syntax]
        print(f"  {number:3} {title} {each}  {one.family}: {syntax}")
        print(f"        {text[:_SHOWN_CHARS]!r}")
