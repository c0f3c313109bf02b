"""Shell lines to the commands in them, under one name for all their repeats.

`cd web && FOO=1 timeout 60 npx vitest run --silent 2>&1 | tail -5` is one `vitest run`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from turnetl.extraction.structural import lexicon

_HEREDOC = re.compile(r"<<-?\s?(['\"\\]?)([A-Z_a-z]{2,20})\1")
_PIECE = re.compile(
    r"'[^']{0,4000}'?|\"(?:[^\"\\]|\\.){0,4000}\"?|\\.|&&|\|\||[;\n|&]|[^'\"\\;\n|&]+|.", re.DOTALL
)
_WORD = re.compile(r"(?:'[^']{0,4000}'?|\"(?:[^\"\\]|\\.){0,4000}\"?|\\.|[^\s'\"\\])+", re.DOTALL)
_REDIRECT = re.compile(r"^(?:\d?|&)>{1,2}(?:&\d|&-)?(.*)$|^<(.*)$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w{0,60}=")
_PROGRAM = re.compile(r"^[A-Za-z][\w.+-]{1,30}$")
_VERB = re.compile(r"^[a-z][a-z0-9]*(?:[:_-][a-z0-9]+){0,4}$")
_TIME = re.compile(r"^-|^\d+[smh]?$")

_TIMED = frozenset({"timeout", "gtimeout"})
_RUNNERS = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("rye", "run"), ("pdm", "run"),
    ("hatch", "run"), ("pnpm", "exec"), ("npm", "exec"), ("bundle", "exec"), ("yarn", "exec"),
    ("pnpm", "dlx"), ("mise", "exec"), ("python", "-m"), ("python3", "-m"), ("npx",), ("bunx",),
)  # fmt: skip
_THREE_WORDS = frozenset(
    ("npm run", "pnpm run", "yarn run", "bun run", "mise run", "docker compose", "gh pr", "gh run",
     "gh issue", "gh repo", "gh release", "go mod", "uv pip", "git worktree", "aws s3",
     "prefect deployment")
)  # fmt: skip
_TESTS = re.compile(
    r"^(?:(?:go|cargo|npm|yarn|pnpm|bun|mix|swift|dotnet|deno|make|just|mise|mise run|npm run|task"
    r"|pnpm run|yarn run|gradle|\./gradlew|mvn) (?:test|build|vet|lint|check|ci|clippy|tsc|compile"
    r"|typecheck|fmt|t)\b.*|pytest|vitest.*|jest|tsc|eslint|mypy|ruff|golangci-lint.*|tox.*|nox.*"
    r"|playwright.*|xcodebuild.*|rspec.*|phpunit.*|unittest.*|ctest.*|pyright.*)$"
)
_AMPERSAND = "\ue000"
"""Stands for the `&` of a redirection while a line is cut at the others."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VERB_LENGTH = 24
_LONGEST = 4000
_LINE = 120
_ARGUMENT = 60
_SEGMENTS = 24


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One simple command out of a shell line."""

    name: str
    """What its repeats share: `go test`, `npm run build`, `pytest`."""
    line: str
    """What was run, without its surroundings, on one line, bounded."""
    program: str
    words: tuple[str, ...]

    @property
    def tests(self) -> bool:
        """Whether what it prints is worth reading for failures, however it ended."""
        return bool(_TESTS.match(self.name))

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing and proves nothing: worth a word only if it failed."""
        return self.name in lexicon.LOOKING


def commands(shell: str) -> list[ShellCommand]:
    """Return the commands of a shell line that have a name, in order."""
    found = []
    for segment in _segments(_without_heredocs(shell[:_LONGEST])):
        command = _command(segment)
        if command:
            found.append(command)
    return found[:_SEGMENTS]


def _without_heredocs(shell: str) -> str:
    start = _HEREDOC.search(shell)
    while start:
        end = re.compile(rf"\s{start.group(2)}\b").search(shell, start.end())
        rest = shell[end.end() :] if end else ""
        shell = shell[: start.start()] + " " + rest
        start = _HEREDOC.search(shell)
    return shell


def _segments(shell: str) -> Iterator[str]:
    """Cut at `&&`, `||`, `;` and line ends outside quotes; what a pipe leads to is left out."""
    segment: list[str] = []
    piped = False
    for piece in _PIECE.findall(
        shell.replace("\\\n", " ").replace(">&", f">{_AMPERSAND}").replace("&>", f"{_AMPERSAND}>")
    ):
        if piece not in {"&&", "||", ";", "\n", "|", "&"}:
            segment.append(piece)
            continue
        if not piped:
            yield "".join(segment)
        segment, piped = [], piece == "|"
    if not piped:
        yield "".join(segment)


def _command(segment: str) -> ShellCommand | None:
    words = _unwrapped(_words(segment))
    if not words:
        return None
    program = words[0]
    if program.startswith(("./", "bin/", "scripts/")):
        program = program.removeprefix("./")
    elif not _PROGRAM.match(program) or program in lexicon.TRIVIAL:
        return None
    words[0] = program
    return ShellCommand(_name(words), _line(words), program, tuple(words))


def _words(segment: str) -> list[str]:
    words = []
    skip = False
    for word in _WORD.findall(segment.replace(_AMPERSAND, "&").strip(" \t(){}")):
        redirect = _REDIRECT.match(word)
        if redirect:
            skip = not (redirect.group(1) or redirect.group(2) or "&" in word)
        elif skip:
            skip = False
        else:
            words.append(word)
    return words


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        if _ASSIGNMENT.match(words[0]) and "$(" in words[0]:
            return []
        if _ASSIGNMENT.match(words[0]) or words[0] in lexicon.WRAPPERS:
            words = words[1:]
        elif words[0] in _TIMED:
            words = words[1:]
            while words and _TIME.match(words[0]):
                words = words[1:]
        elif runner := _runner(words):
            words = words[runner:]
            while words and words[0].startswith("-"):
                words = words[1:]
        else:
            break
    return words


def _runner(words: list[str]) -> int:
    return next(
        (len(r) for r in _RUNNERS if tuple(words[: len(r)]) == r and len(words) > len(r)), 0
    )


def _name(words: list[str]) -> str:
    name = words[:1]
    if name[0] in lexicon.ALONE:
        return name[0]
    for word in _plain_arguments(words):
        if not _VERB.match(word) or len(word) > _VERB_LENGTH:
            break
        name.append(word)
        if len(name) > 1 + (" ".join(name[:2]) in _THREE_WORDS):
            break
    return " ".join(name)


def _plain_arguments(words: list[str]) -> Iterator[str]:
    """Yield the arguments up to the first that is no verb; `git -C path` stands before it."""
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in {"-C", "--prefix", "--git-dir", "--work-tree", "-R", "--repo"}:
            skip = True
        elif not word.startswith("-"):
            yield word


def _line(words: list[str]) -> str:
    shown: list[str] = []
    for word in words:
        if "$(" in word:
            shown.append("…")
        elif len(word) > _ARGUMENT or "\n" in word:
            shown.append(f"{word[: _ARGUMENT - 1].split(chr(10))[0]}…")
        else:
            shown.append(word)
        if sum(map(len, shown)) + len(shown) > _LINE:
            shown[-1] = "…"
            break
    return _CONTROL.sub(" ", " ".join(shown)).replace("`", "'")
