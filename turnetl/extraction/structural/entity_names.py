"""Finds the things that texts name: files, symbols, tests, tickets, flags, each with its label.

Form and evidence decide. A name in code form is a Symbol only if the calls or the code blocks of
its turn hold it, a file only if a call opened or listed it: values in examples, headings and brand
names are no things.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.findings import (
    BRANCH,
    COMMAND,
    COMMIT,
    FILE,
    FLAG,
    PACKAGE,
    PULL_REQUEST,
    SETTING,
    SYMBOL,
    TEST,
    TICKET,
    TOOL,
    EntityKey,
)
from turnetl.extraction.structural.shell_commands import commands

_FILE_LIKE = re.compile(
    r"^(?:[\w@~.()\[\]-]{0,80}/){0,12}[\w@.()\[\]-]{1,100}\.(?:py|pyi|go|rs|ts|tsx|js|jsx|mjs|cjs"
    r"|java|kt|swift|rb|php|c|h|cc|cpp|hpp|cs|m|mm|scala|ex|exs|sh|bash|zsh|sql|md|mdx|rst|txt"
    r"|json|jsonl|yaml|yml|toml|ini|cfg|env|html|css|scss|vue|svelte|lua|proto|graphql|tf|ipynb"
    r"|xml|csv|lock|mod|sum|gradle|plist|tmpl|j2|log|mdc|svg|png)$"
)  # fmt: skip
_TICKET = (
    r"(?!UTF-|SHA-|ISO-|RFC-|GPT-|HTTP-|UTC-|MD-|AES-|CVE-|PEP-|TLS-|RS-|HS-|EAN-|ISBN-|COVID-)"
    r"[A-Z][A-Z0-9]{1,9}-\d{1,6}(?![\w-])"
)
_NAMED = re.compile(
    r"`(?P<quoted>[^`\n]{2,120})`|https://github\.com/(?P<repository>[\w.-]{1,40}/[\w.-]{1,60})/"
    r"(?P<page>pull|issues)/(?P<id>\d{1,6})"
    rf"|(?<![\w/.-])(?P<ticket>{_TICKET})"
    r"|(?<![\w/.-])(?P<flag>--[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,5})(?![\w-])"
    r"|(?P<kind>\b(?:PR|MR|[Pp]ull [Rr]equest|[Ii]ssue) ?)?(?<![\w&/])#(?P<number>\d{1,6})(?!"
    r"[\w-])|(?<![\w/.])@?(?P<path>(?:[\w.~@-]{1,80}/){0,12}[\w@-][\w.@-]{0,80}\.[A-Za-z]{1,6})(?!"
    r"[\w/.]\w)|(?<![\w/.`@-])(?P<code>(?:[A-Za-z_]\w{1,40}(?:\.|::)){0,3}(?:[a-z][a-z0-9]{0,30}"
    r"(?:[A-Z][a-z0-9]{0,30}){1,6}|(?:[A-Z][a-z0-9]{1,20}|[A-Z]{2,8}(?=[A-Z][a-z])){2,8}"
    r"|[A-Za-z][A-Za-z0-9]{0,30}(?:_[A-Za-z0-9]{1,40}){1,8})(?:\(\))?)(?![\w/`@-]|\.\w)"
    r"|(?<![\w/.`@-])(?P<word>[a-z0-9][a-z0-9]{1,30}(?:[-/][a-z0-9]{1,30}){0,4})(?![\w/`@-]|\.\w)"
)
"""What may be a name in a text. A `word` is one only if it is a known program, branch or commit."""
_SYMBOL = re.compile(
    r"^[*&@]?[A-Za-z_$]\w{1,60}(?:(?:\.|::|#|->)[A-Za-z_]\w{0,60}){0,4}(?:\([^()]{0,80}\))?$"
)
_CODE_FORM = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w|::|\)$|\w\.\w")
_CODE_WORDS = re.compile(r"^_?[A-Za-z][a-z]{1,30}(?:_?[A-Z][a-z]{1,30}|_[a-z]{2,30}){1,7}$")
_CAMEL_CASE = re.compile(r"^[a-z]{2,30}(?:[A-Z][a-z]{1,30}){1,7}$")
"""Forms of names of code that need no further evidence, in backticks and without."""
_QUALIFIED = re.compile(r"^[A-Za-z]\w{0,20}(?:\.|::|#)[A-Za-z]\w{1,40}$")
_CONSTANT = re.compile(r"^[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,20}){1,6}$")
_SETTING_KEY = re.compile(r"^[A-Za-z][\w-]{1,60}(?:\.[A-Za-z][\w-]{1,60}){0,3}$")
_TEST = re.compile(
    r"^(?:Test(?!Case|Client|Suite|Runner|Helper|Util|Env|Data|Config|Context|Server|Mode|Repo"
    r"|Dir|Fixture|Kit|Base|Result|Harness|Main|Bed|Module|App|File|ing)[A-Z]\w{3,}"
    r"|Test\w{0,60}_\w{2,}|test_[a-z0-9]{1,40}_\w{2,})$"
)
_FENCE = re.compile(r"```[\s\S]{0,8000}?(?:```|\Z)")
_QUOTED = re.compile(r"`([^`\n]{2,120})`")
_IMPORT = re.compile(
    r"^[ \t+]{0,9}(?:import|from) ([A-Za-z]\w{2,40})\b(?! from)|\b(?:from|require\("
    r"|import) ?['\"](@?[a-z][\w-]{1,60}(?:/[\w.-]{1,60})?)['\"]|^[ \t+]{0,9}(?:import )?"
    r"(?:\w{1,20} )?\"((?:[\w-]{1,40}\.){1,3}[a-z]{2,6}/[\w.-]{1,60}/[\w./-]{1,80})\"",
    re.MULTILINE,
)
_KEY = re.compile(r"^[ \t+]{0,20}['\"]?([A-Za-z][\w.-]{2,60})['\"]?[ \t]{0,4}[:=]", re.MULTILINE)
_GIT_BRANCH = re.compile(
    r"\bgit (?:checkout|switch|merge|rebase|push|fetch|branch)(?: -{1,2}[\w-]{1,20}){0,3}"
    r"(?: origin)? ((?:origin/)?[A-Za-z][\w.-]{1,60}(?:/[\w.-]{1,80}){0,3})"
)
_BRANCH = re.compile(r"^[A-Za-z](?=[^\s]{0,100}[/_-])[\w./-]{2,120}$")
_BRANCH_TICKET = re.compile(
    r"(?:^|/)(?!alpha|beta|bug|chore|day|feat|fix|hotfix|issue|part|phase|pr-|py|rc|release|sprint"
    r"|step|task|test|utf|ver)([A-Za-z]{2,8}-\d{2,5})(?=[-_/]|$)"
)
_MODULE = re.compile(r"^(?:[a-z][\w-]{1,30}\.){1,3}[a-z]{2,6}/[\w.-]{1,60}/[\w./-]{1,80}$")
_HEX = re.compile(r"^(?=[a-f]*\d)[0-9a-f]{7,40}$")
_MACHINE_NAME = re.compile(
    r"^[0-9a-f-]{8,}$|\d{6,}|^/(?:tmp|var|Users|home|private|etc|usr|dev|bin|opt|root|path)/"
    r"|^(?:toolu|msg|req|sess)_|_\d{3,}"
)
_CODE_BEFORE, _CODE_AFTER = frozenset(".*&[(!@$"), frozenset("([{<.=:)")
_KINDS = {
    **dict.fromkeys(("func", "def", "fn", "function"), "Function"),
    **dict.fromkeys(("type", "struct", "interface", "enum", "trait"), "Type"),
    "class": "Class",
    "const": "Constant",
    "let": "Variable",
    "var": "Variable",
}
_DECLARING = re.compile(rf"\b({'|'.join(_KINDS)})(?: \([^()\n]{{1,40}}\))? $")
_DECLARED = re.compile(
    r"^(?:[ \d]{0,8}[\t\u2192])?(?:[-+] )?(?:(?:export|default|pub|async|public|static) ){0,3}"
    r"(?:func(?: \([^()\n]{1,40}\))?|def|class|type|struct|interface|enum|fn|function) "
    r"([A-Za-z_]\w{2,60})(?=\W)(?! ?\[\.\.\. )",
    re.MULTILINE,
)
_ENVIRONMENT = re.compile(r"(?:environ\W{1,3}|[Ee]nv\W{1,3}|ENV |export |\$\{?|-e )$")
_MAX_PATH_LENGTH, _MIN_LENGTH, _MAX_OCCURRENCES = 300, 4, 8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the calls and code blocks of a turn show of the things that its texts may name."""

    code: str
    """Arguments and results of calls, and code blocks."""
    file: Callable[[str], str | None]
    """Returns the known file of a path in a text; None if no call opened or listed it."""
    programs: frozenset[str]
    """Programs that were run, MCP servers and skills, in lower case."""
    packages: frozenset[str]
    settings: frozenset[str]
    """Keys of settings files."""
    branches: frozenset[str]
    repositories: frozenset[str]
    """Names that the repository of the project may have, in lower case: `cli` of `owner/cli`."""
    is_work: bool
    """Whether the agent works in a folder or calls tools: a chat names few things."""


def things(text: str, evidence: Evidence) -> list[EntityKey]:
    """Return the things that a text names, in order, each once."""
    found = (_thing(match, evidence) for match in _NAMED.finditer(text))
    return list(dict.fromkeys(key for key in found if key is not None))


def paths(text: str) -> list[str]:
    """Return what has the form of a path or a name of a file in a text, in order."""
    found = ((match["quoted"] or match["path"] or "").strip() for match in _NAMED.finditer(text))
    return [word for word in dict.fromkeys(found) if word and is_file_like(word)]


def declaration(name: str, text: str) -> str:
    """Return the kind of thing that a text of code declares under a name; empty if it does not."""
    found = (_DECLARING.search(before) for before, _ in _occurrences(name, text))
    return next((_KINDS[match.group(1)] for match in found if match), "")


def declared(text: str) -> list[str]:
    """Return the names that a text of code declares at the beginning of lines, in order."""
    return list(dict.fromkeys(_DECLARED.findall(text)))


def quoted(text: str) -> str:
    """Return the words of a text that stand in backticks outside of code blocks, a line each."""
    return "\n".join(f"`{word}`" for word in _QUOTED.findall(_FENCE.sub("\n", text)))


def code_blocks(text: str) -> str:
    return "\n".join(block.group() for block in _FENCE.finditer(text))


def packages(code: str) -> frozenset[str]:
    """Return what lines of code import, but for modules of the project by a relative path."""
    return frozenset(name for found in _IMPORT.findall(code) for name in found if name)


def setting_keys(text: str) -> frozenset[str]:
    """Return the keys of the lines of a settings file."""
    return frozenset(_KEY.findall(text))


def branches(shell: str) -> frozenset[str]:
    """Return the branches that commands of Git name, without default ones and those of one run."""
    names = {name.removeprefix("origin/") for name in _GIT_BRANCH.findall(shell)}
    return frozenset(name for name in names if branch(name) and not is_file_like(name))


def branch(name: str | None) -> str | None:
    """Return the branch if its name is specific: not a default branch, not with a hash."""
    if (
        not name
        or name.endswith("/")
        or not _BRANCH.match(name)
        or _MACHINE_NAME.search(name.rpartition("/")[2])
    ):
        return None
    return None if name.lower() in lexicon.DEFAULT_BRANCHES else name


def ticket_of(branch: str | None) -> EntityKey | None:
    """Return the ticket that a branch is named after: ENT-98 of `ann/ent-98-fix-names`."""
    match = _BRANCH_TICKET.search(branch or "")
    return EntityKey(TICKET, match.group(1).upper()) if match else None


def is_file_like(word: str) -> bool:
    return len(word) < _MAX_PATH_LENGTH and bool(_FILE_LIKE.match(word.partition(":")[0]))


def _thing(match: re.Match[str], evidence: Evidence) -> EntityKey | None:
    found = _BY_FORM[match.lastgroup or "word"](match, evidence)
    return None if found is None or _MACHINE_NAME.search(found.name) else found


def _quoted(word: str, evidence: Evidence) -> EntityKey | None:
    if word.startswith("--"):
        return _flag(word)
    if re.fullmatch(_TICKET, word):
        return _ticket(word, evidence)
    if is_file_like(word):
        return _file(word, evidence)
    return (
        _known(word, evidence, is_quoted=True)
        or _command(word, evidence)
        or _symbol(word, evidence, is_quoted=True)
    )


def _flag(word: str) -> EntityKey | None:
    flag = re.match(r"--[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,5}(?=$|[ =])", word)
    return EntityKey(FLAG, flag.group()) if flag else None


def _file(path: str, evidence: Evidence) -> EntityKey | None:
    name = evidence.file(path) if is_file_like(path) else None
    return EntityKey(FILE, name) if name else None


def _number(match: re.Match[str], evidence: Evidence) -> EntityKey | None:
    """Return `#12` if the text or a call says what it numbers: a list may have one, too."""
    kind, number = (match["kind"] or "").casefold(), match["number"]
    if re.search(rf"/issues/{number}\b|gh issue \w+ {number}\b", evidence.code):
        return EntityKey(TICKET, f"#{number}")
    is_pull = kind and not kind.startswith("issue")
    if is_pull or re.search(rf"/pull/{number}\b|gh pr \w+ {number}\b", evidence.code):
        return EntityKey(PULL_REQUEST, f"#{number}")
    return None


def _page(match: re.Match[str], evidence: Evidence) -> EntityKey:
    label = PULL_REQUEST if match["page"] == "pull" else TICKET
    repository = match["repository"]
    is_own = repository.rpartition("/")[2].casefold() in evidence.repositories
    return EntityKey(label, f"#{match['id']}" if is_own else f"{repository}#{match['id']}")


def _ticket(name: str, evidence: Evidence) -> EntityKey | None:
    """Return a ticket of a turn that works: `EAN-13` in a chat is none."""
    return EntityKey(TICKET, name) if evidence.is_work else None


def _known(word: str, evidence: Evidence, *, is_quoted: bool) -> EntityKey | None:
    """Return the package, setting, tool, branch or commit of that name that a call shows."""
    label = _known_label(word, evidence, is_quoted=is_quoted)
    short = {COMMIT: word[:7], BRANCH: word.removeprefix("origin/")}
    return EntityKey(label, short.get(label, word)) if label else None


def _known_label(word: str, evidence: Evidence, *, is_quoted: bool) -> str:
    code = evidence.code
    is_program = is_quoted or "-" in word or word in lexicon.NO_SUBCOMMAND - {"black"}
    is_key = word in evidence.settings and _SETTING_KEY.match(word)
    is_import = is_quoted and _MODULE.match(word) and f'"{word}' in code
    is_package = word in evidence.packages and (is_quoted or re.search(r"[/@.-]", word))
    if _HEX.match(word):
        return COMMIT if re.search(rf"\b{word[:7]}[0-9a-f]{{0,33}}[ \]\\n]", code) else ""
    signs = (
        (BRANCH, word in evidence.branches or (is_quoted and _is_ref(word, code))),
        (PACKAGE, is_import or is_package),
        (TOOL, word.casefold() in evidence.programs and is_program),
        (TOOL, "-" in word and f"skills/{word}/" in code),
        (SETTING, is_key and (is_quoted or re.search(r"[a-z]-[a-z]", word))),
    )
    return next((label for label, is_shown in signs if is_shown), "")


def _is_ref(word: str, code: str) -> bool:
    """Return whether a call of Git has shown a name as that of a branch."""
    name = branch(word.removeprefix("origin/"))
    return bool(name and "/" in name) and (f"origin/{name}" in code or f"heads/{name}" in code)


def _command(word: str, evidence: Evidence) -> EntityKey | None:
    """Return the command of a line, if its program was run, or is one of the project."""
    parsed = commands(word) if " " in word else []
    if len(parsed) != 1:
        return None
    program = parsed[0].program.casefold()
    if program not in evidence.programs and f"cmd/{program}/" not in evidence.code:
        return None
    is_whole = parsed[0].name != parsed[0].program
    return EntityKey(COMMAND, parsed[0].name) if is_whole else None


def _symbol(word: str, evidence: Evidence, *, is_quoted: bool) -> EntityKey | None:
    if not _SYMBOL.match(word) or not _CODE_FORM.search(word):
        return None
    called = word.partition("(")[0].lstrip("*&@")
    name = re.split(r"\.|::|#|->", called)[-1]
    if len(called) < _MIN_LENGTH or called.casefold() in lexicon.GENERIC_IDENTIFIERS:
        return None
    if _CONSTANT.match(name):
        return _constant(name, evidence.code)
    if not _is_code(name, evidence, is_quoted=is_quoted):
        return None
    label = TEST if _TEST.match(name) else SETTING if name in evidence.settings else SYMBOL
    if re.search(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w", name):
        return EntityKey(label, name)
    # A name of one word is ambiguous alone: `Init`. It keeps its qualifier, or is none.
    is_specific = called[0].isupper() or name[0].isupper() or word == f"{called}()"
    return EntityKey(label, called) if is_specific and _QUALIFIED.match(called) else None


def _is_code(name: str, evidence: Evidence, *, is_quoted: bool) -> bool:
    """Return whether a name in code form is one of code, not a brand name or a value."""
    if evidence.is_work and (_CODE_WORDS if is_quoted else _CAMEL_CASE).match(name):
        return True
    return name in evidence.code if is_quoted else _occurs_as_code(name, evidence.code)


def _constant(name: str, code: str) -> EntityKey | None:
    """Return a variable of the environment as a Setting; another constant if it is assigned."""
    is_assigned = False
    for before, after in _occurrences(name, code):
        if _ENVIRONMENT.search(before):
            return EntityKey(SETTING, name)
        is_assigned = is_assigned or bool(re.match(r" ?[:=]", after))
    return EntityKey(SYMBOL, name) if is_assigned else None


def _occurs_as_code(name: str, code: str) -> bool:
    return any(
        before[-1:] in _CODE_BEFORE or after[:1] in _CODE_AFTER or _DECLARING.search(before)
        for before, after in _occurrences(name, code)
    )


def _occurrences(name: str, code: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after the first occurrences of a whole name."""
    start = code.find(name)
    for _ in range(_MAX_OCCURRENCES):
        if start < 0:
            return
        end = start + len(name)
        before, after = code[max(0, start - 60) : start], code[end : end + 3]
        if not (re.search(r"\w$", before) or re.match(r"\w", after)):
            yield before, after
        start = code.find(name, end)


_BY_FORM: Mapping[str, Callable[[re.Match[str], Evidence], EntityKey | None]] = {
    "quoted": lambda match, evidence: _quoted(match["quoted"].strip(), evidence),
    "id": _page,
    "ticket": lambda match, evidence: _ticket(match["ticket"], evidence),
    "flag": lambda match, _: EntityKey(FLAG, match["flag"]),
    "number": _number,
    "path": lambda match, evidence: _file(match["path"], evidence),
    "code": lambda match, evidence: _symbol(match["code"], evidence, is_quoted=False),
    "word": lambda match, evidence: _known(match["word"], evidence, is_quoted=False),
}
"""By the group of `_NAMED` that matched."""
