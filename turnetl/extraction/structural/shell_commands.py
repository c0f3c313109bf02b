"""Splits shell lines into commands, each with a name that is the same for all its variants.

`cd web && FOO=1 timeout 60 npx vitest run --silent 2>&1 | tail -5` is the command `vitest run`.
Finds the files that a line moves, removes or edits, and the packages that an install command or a
line in a manifest adds, too.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from turnetl.base.edit_outline import ADDED, BECOMES, CHANGED, DELETED, RENAMED, EditedPart
from turnetl.extraction.structural import lexicon

_HEREDOC = re.compile(r"<<-?\s?(['\"\\]?)([A-Z_a-z]{2,20})\1")
_TOKEN = re.compile(
    r"'[^']{0,4000}'?|\"(?:[^\"\\]|\\.){0,4000}\"?|\\.|&&|\|\||[;\n|&]|[^'\"\\;\n|&]+|.", re.DOTALL
)
_WORD = re.compile(r"(?:'[^']{0,4000}'?|\"(?:[^\"\\]|\\.){0,4000}\"?|\\.|[^\s'\"\\])+", re.DOTALL)
_REDIRECT = re.compile(r"^(?:\d?|&)>{1,2}(?:&\d|&-)?(.*)$|^<(.*)$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w{0,60}=")
_IN_BIN = re.compile(r"^(?!\./bin/)[^=\s]{0,200}/\.?bin/(?=[\w.+-]{1,40}$)")
"""Folders of `.venv/bin/pytest` and `node_modules/.bin/jest`."""
_PROGRAM_NAME = re.compile(r"^[A-Za-z][\w.+-]{1,30}$")
_SUBCOMMAND = re.compile(r"^[a-z][a-z0-9]*(?:[:_-][a-z0-9]+){0,4}$")
_TIMEOUT_ARGUMENT = re.compile(r"^-|^\d+[smh]?$")

_TIMEOUT_PROGRAMS = frozenset({"timeout", "gtimeout"})
_RUNNERS = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("rye", "run"), ("pdm", "run"),
    ("hatch", "run"), ("pnpm", "exec"), ("npm", "exec"), ("bundle", "exec"), ("yarn", "exec"),
    ("pnpm", "dlx"), ("mise", "exec"), ("python", "-m"), ("python3", "-m"), ("npx",), ("bunx",),
)  # fmt: skip
_TWO_SUBCOMMANDS = frozenset(
    ("npm run", "pnpm run", "yarn run", "bun run", "mise run", "docker compose", "gh pr", "gh run",
     "gh issue", "gh repo", "gh release", "go mod", "uv pip", "git worktree", "aws s3",
     "prefect deployment")
)  # fmt: skip
_TEST_COMMAND = re.compile(
    r"^(?:(?:go|cargo|npm|yarn|pnpm|bun|mix|swift|dotnet|deno|make|just|mise|mise run|npm run|task"
    r"|pnpm run|yarn run|bun run|gradle|gradlew|mvn|mvnw|dart|flutter|rails|bin/rails|rake"
    r"|composer|bazel|sbt|zig|stack|cabal|next|vite|terraform|docker|docker compose|ty|hatch"
    r"|hatch run) (?:test|build|vet|lint|check|ci|clippy|tsc|compile|typecheck|type-check|verify"
    r"|assemble|fmt|nextest|analyze|validate|spec|package|t)\b.*|(?:(?:pnpm|yarn|bun) )?(?:pytest"
    r"|vitest|jest|mocha|ava|karma|cypress|tsc|vue-tsc|svelte-check|eslint|stylelint|biome"
    r"|prettier|mypy|pyright|basedpyright|pylint|flake8|ruff|black|isort|bandit|golangci-lint"
    r"|staticcheck|tox|nox|playwright|xcodebuild|swiftlint|rspec|rubocop|phpunit|pest|phpstan"
    r"|psalm|unittest|ctest|cmake|ninja|make|g?cc|g\+\+|clang|clang\+\+|javac|kotlinc|rustc"
    r"|shellcheck|actionlint|hadolint|tflint|pre-commit|webpack|rollup|esbuild|tsup)\b.*)$"
)
_FOLDER_OPTION = re.compile(r"\s(?:-C|--(?:prefix|cwd|dir|directory))[ =]['\"]?([\w./~-]{1,200})")
_UNKNOWN_FOLDER = re.compile(r"^\.\.?(?:/|$)|^-$|[$`*]")
"""Relative to where the shell is, or known only to it."""
_CI_LOG = re.compile(
    r"gh (?:run (?:view|watch)|pr checks)\b|gh api\b.{0,80}/logs|glab (?:ci|job) (?:trace|view)\b"
)
_AMPERSAND = "\ue000"
"""Replaces the `&` of a redirection while a line is split at the others."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_SUBCOMMAND_LENGTH = 24
_MAX_SHELL_LENGTH = 4000
_MAX_LINE_LENGTH = 120
_MAX_ARGUMENT_LENGTH = 60
_MAX_COMMANDS = 24


@dataclass(frozen=True, slots=True)
class ShellCommand:
    name: str
    """The part that all variants share: `go test`, `npm run build`, `pytest`."""
    line: str
    """The command without environment and redirections, on one line, shortened."""
    program: str
    words: tuple[str, ...]
    cwd: str = ""
    """The folder that the shell line or the program changes to before; empty if none is named."""

    @property
    def is_test(self) -> bool:
        """Whether its output may contain failures, even if it exits with 0."""
        return bool(_TEST_COMMAND.match(self.name))

    @property
    def is_read_only(self) -> bool:
        """Whether it changes and tests nothing: only its failure is a fact."""
        return self.name in lexicon.READ_ONLY_COMMANDS


def is_ci_log(line: str) -> bool:
    """Whether a command shows what happened on a machine of CI."""
    return _CI_LOG.match(line) is not None


def commands(shell: str) -> list[ShellCommand]:
    """Return the commands of a shell line that have a name, in order."""
    parsed = []
    folder = ""
    for segment in _segments(_without_heredocs(shell[:_MAX_SHELL_LENGTH])):
        words = _words(segment)
        if words[:1] == ["cd"]:
            folder = posixpath.join(folder, words[1].strip("'\"")) if len(words) > 1 else ""
        elif command := _command(segment):
            there = _FOLDER_OPTION.search(segment)
            cwd = posixpath.normpath(posixpath.join(folder, there[1] if there else "", "."))
            parsed.append(replace(command, cwd="" if _UNKNOWN_FOLDER.search(cwd) else cwd))
    return parsed[:_MAX_COMMANDS]


def _without_heredocs(shell: str) -> str:
    start = _HEREDOC.search(shell)
    while start:
        end = re.compile(rf"\s{start.group(2)}\b").search(shell, start.end())
        rest = shell[end.end() :] if end else ""
        shell = shell[: start.start()] + " " + rest
        start = _HEREDOC.search(shell)
    return shell


def _segments(shell: str) -> Iterator[str]:
    """Split at `&&`, `||`, `;` and line ends outside quotes; omit commands after a pipe."""
    segment: list[str] = []
    is_piped = False
    for piece in _TOKEN.findall(
        shell.replace("\\\n", " ").replace(">&", f">{_AMPERSAND}").replace("&>", f"{_AMPERSAND}>")
    ):
        if piece not in {"&&", "||", ";", "\n", "|", "&"}:
            segment.append(piece)
            continue
        if not is_piped:
            yield "".join(segment)
        segment, is_piped = [], piece == "|"
    if not is_piped:
        yield "".join(segment)


def _command(segment: str) -> ShellCommand | None:
    words = _without_wrappers(_words(segment))
    if not words:
        return None
    program = words[0]
    if program.startswith(("./", "bin/", "scripts/")):
        program = program.removeprefix("./")
    elif not _PROGRAM_NAME.match(program) or program in lexicon.SHELL_UTILITIES:
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


def _without_wrappers(words: list[str]) -> list[str]:
    while words:
        words[0] = _IN_BIN.sub("", words[0])
        if _ASSIGNMENT.match(words[0]) and "$(" in words[0]:
            return []
        if _ASSIGNMENT.match(words[0]) or words[0] in lexicon.WRAPPERS:
            words = words[1:]
        elif words[0] in _TIMEOUT_PROGRAMS:
            words = words[1:]
            while words and _TIMEOUT_ARGUMENT.match(words[0]):
                words = words[1:]
        elif runner := _runner(words):
            words = words[runner:]
            while words and words[0].startswith("-"):
                words = words[1:]
        else:
            break
    return words


def _runner(words: list[str]) -> int:
    """Return the number of words that form a runner such as `uv run`, or 0."""
    return next(
        (len(r) for r in _RUNNERS if tuple(words[: len(r)]) == r and len(words) > len(r)), 0
    )


def _name(words: list[str]) -> str:
    name = words[:1]
    if name[0] in lexicon.NO_SUBCOMMAND:
        return name[0]
    for word in _plain_arguments(words):
        if not _SUBCOMMAND.match(word) or len(word) > _MAX_SUBCOMMAND_LENGTH:
            break
        name.append(word)
        if len(name) > 1 + (" ".join(name[:2]) in _TWO_SUBCOMMANDS):
            break
    return " ".join(name)


def _plain_arguments(words: list[str]) -> Iterator[str]:
    """Yield the arguments without options, and without the value of `git -C path` and the like."""
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in {"-C", "--prefix", "--git-dir", "--work-tree", "-R", "--repo"}:
            skip = True
        elif not word.startswith("-"):
            yield word


def _line(words: list[str]) -> str:
    parts: list[str] = []
    for word in words:
        if "$(" in word:
            parts.append("…")
        elif len(word) > _MAX_ARGUMENT_LENGTH or "\n" in word:
            parts.append(f"{word[: _MAX_ARGUMENT_LENGTH - 1].split(chr(10))[0]}…")
        else:
            parts.append(word)
        if sum(map(len, parts)) + len(parts) > _MAX_LINE_LENGTH:
            parts[-1] = "…"
            break
    return _CONTROL.sub(" ", " ".join(parts)).replace("`", "'")


_PACKAGE = re.compile(r"^@?[A-Za-z0-9][\w.+-]{0,60}(?:/[\w.+~-]{1,60}){0,6}$")
_VERSION = re.compile(
    r"(?:\[[^\]]{0,80}\])?(?:[=<>~!^]=?|===?).{0,60}$|(?<=.)@[\w.^~*-]{1,40}$|\[[^\]]{0,80}\]$"
)
_MANIFEST = re.compile(
    r"(?:^|/)(?:package\.json|pyproject\.toml|Cargo\.toml|go\.mod|requirements[\w-]*\.txt|Gemfile)$"
)
_MANIFEST_LINE = re.compile(
    r"^\+? ?\"(@?[a-z][\w./-]{1,60})\": ?\"[\^~>=<]{0,2}\d[\w.-]{0,20}\",?$"
    r"|^\+? ?\"([A-Za-z][\w.-]{1,60})(?:\[[\w,-]{1,60}\])? ?[=<>~!]=? ?\d[^\"]{0,40}\",?$"
    r"|^\+? ?([a-z][\w.-]{1,60}) ?= ?(?:\"\^?\d[\w.*-]{0,20}\""
    r"|\{ ?version ?= ?\"[^\"]{1,30}\".{0,200}\})$"
    r"|^\+? ?(?:require )?((?:[\w-]{1,40}\.)[\w.-]{1,60}(?:/[\w.-]{1,60}){1,5}) v\d[\w.+-]{0,60}$"
    r"|^\+? ?([A-Za-z][\w.-]{1,60})(?:\[[\w,-]{1,60}\])?[=~>]=\d[\w.]{0,20}$"
)
_MANIFESTS = {
    "pyproject.toml": ("uv add", "poetry add", "pdm add", "rye add"),
    "package.json": (
        *("npm install", "npm i", "npm add", "pnpm add", "pnpm install", "pnpm i", "yarn add"),
        *("bun add", "bun install"),
    ),
    "Cargo.toml": ("cargo add",),
    "go.mod": ("go get",),
    "Gemfile": ("bundle add",),
    "composer.json": ("composer require",),
    "Pipfile": ("pipenv install",),
}
_MANIFEST_OF = {command: name for name, commands in _MANIFESTS.items() for command in commands}
_ELSEWHERE = frozenset({"-g", "--global"})
_REPLACED = re.compile(r"^s([/|#,])([^/|#,]{2,80})\1([^/|#,]{0,80})\1[gI]{0,2}$")
_NOT_PACKAGES = frozenset(
    ("version", "name", "node", "python", "edition", "go", "rust-version", "requires-python")
)
_MAX_MANIFEST_LINE = 400
_MAX_PACKAGES, _MAX_FILES = 10, 3
RESTORED = "="
"""The kind of a change that takes back what was not committed of a file; `.`: of all files."""


def installed_packages(command: ShellCommand) -> list[str]:
    install = _install_command(command)
    if not install:
        return []
    return list(dict.fromkeys(_names(command.words[len(install.split()) :])))[:_MAX_PACKAGES]


def is_manifest(path: str) -> bool:
    return bool(_MANIFEST.search(path))


def file_changes(shell: str) -> Iterator[EditedPart]:
    """Yield the files that a shell line moves, removes or edits, and packages that it adds.

    Paths are relative to where the line starts.
    """
    folder = ""
    for segment in _segments(_without_heredocs(shell[:_MAX_SHELL_LENGTH])):
        words = _words(segment)
        if words[:1] == ["cd"] and len(words) == 2:  # noqa: PLR2004 - the command and a folder
            folder = words[1].rstrip("/") + "/"
        for change in (*_moved(words), *_installed(segment)):
            there = folder if not change.path.startswith(("/", "~")) else ""
            detail = f"{there}{change.detail}" if change.kind == RENAMED else change.detail
            yield change._replace(path=f"{there}{change.path}", detail=detail)


def _moved(words: list[str]) -> Iterator[EditedPart]:
    names = [word.strip("'\"") for word in words if not word.startswith("-")]
    is_git = names[:1] == ["git"]
    match names[is_git:]:
        case ["mv", source, target]:
            into = f"{target}{source.rpartition('/')[2]}" if target.endswith("/") else target
            yield EditedPart(RENAMED, "", into, source)
        case ["checkout" | "restore", *files] if is_git and restores(words):
            yield from (EditedPart(RESTORED, "", "", file) for file in files if "." in file)
        case ["reset", *refs] if is_git and "--hard" in words and refs in ([], ["HEAD"]):
            yield EditedPart(RESTORED, "", "", ".")
        case ["rm", *files] if not is_git or "--cached" not in words:
            yield from (EditedPart(DELETED, "", "", file) for file in files[:_MAX_FILES])
        case ["sed", script, *files] if any(word.startswith("-i") for word in words):
            if found := _REPLACED.match(script):
                detail = f"{found.group(2)}{BECOMES}{found.group(3)}"
                yield from (EditedPart(CHANGED, "", detail, file) for file in files[:_MAX_FILES])


def restores(words: list[str]) -> bool:
    """Whether the words of `git checkout` or `git restore` take back changes of files."""
    return bool({"--", "."}.intersection(words)) or (
        words[1] == "restore" and "--staged" not in words
    )


def _installed(segment: str) -> Iterator[EditedPart]:
    command = _command(segment)
    manifest = _MANIFEST_OF.get(_install_command(command)) if command is not None else None
    if command is not None and manifest is not None and not _ELSEWHERE.intersection(command.words):
        for package in installed_packages(command):
            yield EditedPart(ADDED, f"dependencies.{package}", f"{BECOMES}{command.line}", manifest)


def in_manifest(path: str, change: str) -> list[str]:
    """Return the packages that a change adds to a manifest, as far as the change shows them."""
    if not _MANIFEST.search(path):
        return []
    added = change[:20_000].rpartition("+ ")[2] if " + " in change or change[:2] == "+ " else change
    lines = (line.strip() for line in added[:20_000].split("\n")[:400])
    matches = (_MANIFEST_LINE.match(line) for line in lines if len(line) < _MAX_MANIFEST_LINE)
    names = (next(filter(None, match.groups())) for match in matches if match)
    return list(dict.fromkeys(name for name in names if name not in _NOT_PACKAGES))[:_MAX_PACKAGES]


def _install_command(command: ShellCommand) -> str:
    words = command.words
    return next(
        (install for n in (3, 2) if (install := " ".join(words[:n])) in lexicon.INSTALL_COMMANDS),
        "",
    )


def _names(words: tuple[str, ...]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in lexicon.VALUE_OPTIONS:
            skip = True
        elif not word.startswith(("-", ".", "/", "~", "$", "git+", "http", "file:")):
            name = _VERSION.sub("", word.strip("'\""))
            if _PACKAGE.match(name) and not name.endswith((".txt", ".whl", ".gz", "/")):
                yield name
