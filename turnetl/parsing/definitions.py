"""Finds definitions in parts of files: functions, types, constants, settings, headings, tests.

A pattern for each language and the indentation are enough, and a part of a file has no syntax tree.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LONGEST_LINE = 400
"""A longer line defines nothing: it is data, or generated."""
_MAX_ABOVE = 3000
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_FENCE_END = re.compile(r"[ \t]*(?:```|~~~)[`~]*\s*$")
"""With the name of a language, the mark stands in a code block."""
_CONTINUES = re.compile(r"[ \t]*[)\]}{]")
"""Closes or opens what an earlier line began, and ends no definition."""
_COMMENT = re.compile(r"[ \t]*(?://[/!]?|#(?![\[!])|/\*\*?|\*(?!/)|--|;;?|@[\w.]+|#\[)")
"""A comment or a decorator: of the definition below it."""

_JS = (
    r"(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?"
    r"(?:function\*? ?|class |interface |type |enum |namespace )([\w$]+)"
    r"|(?:export )?(?:const|let|var) ([\w$]+)(?:: [^=]{1,200})? = (?:async )?"
    r"(?:function\b|\([^)]{0,300}\)(?:: [^=]{1,100})? =>|\w+ =>|memo\(|forwardRef\()"
    r"|(?:export )?const ([A-Z][A-Z\d_]{2,})\b"
    r"|(?:it|test|describe)(?:\.\w{1,20})?\(['\"`]([^'\"`]{3,100})['\"`]"
    r"|(?:(?:public|private|protected|static|async|override|readonly|get|set) ){0,4}"
    r"(?!(?:if|for|while|switch|catch|function|return|await|new|throw|else|do|super)\b)"
    r"(#?[\w$]+)\([^()]{0,200}\)(?:: [^{=;]{1,100})? \{$"
)
_C_LIKE = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|async"
    r"|virtual|inline|constexpr|export|data|suspend|partial|readonly|fileprivate|mutating) ){0,6}"
    r"(?:(?:class|interface|enum(?: class)?|struct|record|trait|protocol|extension|object|namespace"
    r"|union|module|actor) (\w+)"
    r"|(?:fun|func|function|def|sub) (?:[\w<>]+\.)?(\w+)"
    r"|(?!(?:return|new|else|throw|await|case|delete|using|typedef|goto) )"
    r"[\w:<>\[\],.?*&]{2,60}(?: \*|\* | &|& | )((?:\w+::)?~?\w+)\([^;]{0,300}\)?(?: const)?"
    r"(?: throws \w+)? ?[{,]?$)"
    r"|#define (\w+)"
)
_PATTERNS = {
    "py pyi": r"(?:async )?def (\w+)|class (\w+)|(?<!\s)([A-Z_][A-Z\d_]{2,}) ?(?::[^=]{1,100})?= ",
    "go": (
        r"func (?:\([^)]{1,80}\) )?(\w+)|type (\w+)|(?<!\s)(?:var|const) (\w+)"
        r"|(?<=\t)(?<!\t\t)([A-Z]\w+) +(?:[\w.*\[\]]+ +)?= "
        r"|(?<=\t)(?<!\t\t)([A-Z]\w+) +[\w.*\[\]{}]+(?: +`[^`]{1,200}`)?(?: *//.*)?$"
    ),
    "js jsx ts tsx mjs cjs mts cts vue svelte astro": _JS,
    "rs": (
        r"(?:pub(?:\([\w:]+\))? )?(?:(?:async|unsafe|const|extern \"C\") ){0,3}"
        r"(?:fn|struct|enum|trait|union|mod|type|static|const|macro_rules!) (\w+)"
        r"|impl(?:<[^>]{1,100}>)? (?:[\w:<>, ]{1,80} for )?(\w+)"
    ),
    "java kt kts cs swift scala dart php c h cc cpp cxx hpp hh m mm groovy": _C_LIKE,
    "rb": r"def (?:self\.)?(\w+[?!]?)|(?:class|module) ([\w:]+)|(?<!\s)([A-Z][A-Z\d_]{2,}) = ",
    "ex exs": r"(?:def|defp|defmacro|defmodule) ([\w.]+[?!]?)",
    "lua": r"(?:local )?function ([\w.:]+)",
    "sh bash zsh": r"(?:function )?([\w-]+)\(\) ?\{|function ([\w-]+)|(?<!\s)([A-Z][A-Z\d_]{2,})=",
    "sql": (
        r"(?i:create (?:or replace )?(?:temp |temporary |unique |materialized )?"
        r"(?:table|view|index|function|trigger|type)(?: if not exists)? [\"`]?([\w.]+)"
        r"|alter table (?:if exists )?[\"`]?([\w.]+))"
    ),
    "css scss less": r"([.#@]?[\w-][\w .#:>,()-]{0,80}?) ?\{$|(--[\w-]+): ",
    "proto graphql gql": r"(?:message|service|rpc|enum|type|input|interface|scalar|query) (\w+)",
    "tf hcl": r"(?:resource|data|module|variable|output) \"([\w-]+)\"(?: \"[\w-]+\")? \{",
    "mk": r"(?<!\s)([\w.-]+):(?!=)|(?<!\s)([A-Z_]{3,}) ?[:?]?= ",
}
_SETTINGS = {
    "toml ini cfg conf properties env": r"\[{1,2}([^\]]{1,80})\]{1,2}$|([\w.\"-]{1,80}?) ?= ?",
    "yaml yml": r"(?:- )?[\"']?([\w./$@-]{1,80})[\"']?:(?: |$)",
    "json jsonc json5": r"\"([^\"\s]{1,80})\": ?",
}
_TYPED = (
    r"(?:(?:public|private|protected|internal|static|final|open|override|readonly|const|volatile"
    r"|lateinit|weak|lazy|required|fileprivate|mutable|constexpr|transient|declare) ){0,5}"
)
_NO_MEMBER = r"(?!(?:return|throw|if|else|for|while|case|break|import|package|using|pass|raise)\b)"
_MEMBERS = {
    "py pyi": rf"{_NO_MEMBER}([A-Za-z_]\w*) ?(?::(?!=)|=(?!=))",
    "go": r"([A-Za-z_]\w*)(?:, \w+){0,4} +[\w.*\[\]{}()<-]",
    "js jsx ts tsx mjs cjs mts cts vue svelte": (
        rf"{_NO_MEMBER}{_TYPED}(#?[\w$]+)(?:[?!]?:|\(| ?=(?![=>])|,?$|;$)"
    ),
    "rs": r"(?:pub(?:\([\w:]+\))? )?(?:([a-z_]\w*): |([A-Z]\w*)(?:[({,]| = |$))",
    "java kt kts cs swift scala dart php c h cc cpp cxx hpp hh m mm groovy": (
        rf"{_NO_MEMBER}{_TYPED}(?:(?:val|var|let) (\w+)|case (\w+)"
        r"|[\w<>\[\],.?*&: ]{1,60}? [*&$]?(\w+) ?(?:=(?!=)|;|\{ ?get)"
        r"|\$(\w+) ?[=;]|([A-Z]\w*)(?: ?= ?[^,]{1,60}|\([^)]{0,80}\))?[,;]?$)"
    ),
    "rb": r"attr_\w{1,10} :(\w+)",
    "sql": (
        r"(?!(?i:primary|foreign|unique|constraint|check|key|index|create|alter|insert|select)\b)"
        r"[\"`]?(\w+)[\"`]? [A-Za-z]"
    ),
    "proto": r"(?:repeated |optional )?[\w.<>, ]{1,60} (\w+) = \d+",
    "graphql gql": r"(\w+)(?:\([^)]{0,200}\))?: ",
}
_WITH_COLONS = frozenset(["rs", "php", "c", "h", "cc", "cpp", "cxx", "hpp", "hh"])
_GO_METHOD = re.compile(r"func \(\w{0,40} ?(\*?)(\w+)(?:\[[^\]]{0,80}\])?\) (\w+)")
_TYPE = re.compile(
    r"(?:^|\s)(?:class|struct|interface|enum|trait|impl\b.{0,100}|protocol|extension|object|record"
    r"|union|actor|type|message|service|input|(?i:create (?:temp )?table))\s",
)
_PROSE = "md mdx markdown rst adoc"
_HEADING = r"#{1,6} (\S[^\n]{0,100})"
_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|[\w.-]*\.lock)$|\.min\.\w+$|\.snap$"
)


class Definition(NamedTuple):
    line: int
    """Its index in the lines."""
    indent: int
    name: str
    is_type: bool = False
    """Whether it owns what it encloses: a class, a struct, an enumeration, an interface."""


@dataclass(frozen=True, slots=True)
class Language:
    """How definitions of a language look."""

    pattern: re.Pattern[str]
    is_settings: bool = False
    is_prose: bool = False
    member: re.Pattern[str] | None = None
    """Fields and constants in the body of a type."""
    scope: str = "."
    """Between a type and what it owns."""

    def name(self, line: str) -> str:
        """Return the name that a line defines, or an empty one; of a Go method with its type."""
        found = self.pattern.match(line) if len(line) <= _LONGEST_LINE else None
        if found and (method := _GO_METHOD.match(line)):
            pointer, owner, name = method.groups()
            return f"(*{owner}).{name}" if pointer else f"{owner}.{name}"
        return _first_name(found)

    def definitions(
        self, lines: Sequence[str], owner: Definition | None = None, *, is_code: bool = False
    ) -> Iterator[Definition]:
        """Yield the definitions in lines, of which `owner` encloses the first.

        `is_code`: whether the first line stands in a code block of a document.
        """
        types = _OpenTypes(owner if owner is not None and owner.is_type else None)
        for index, line in enumerate(lines):
            if self.is_prose and (_FENCE_END if is_code else _FENCE).match(line):
                is_code = not is_code
            elif not is_code and (name := self.name(line)):
                found = Definition(index, self._depth(line), name, _is_type(line, name))
                types.open(found)
                yield found
            elif (
                self.member is not None
                and line.strip()
                and types.is_member(line)
                and (name := _first_name(self.member.match(line)))
            ):
                yield Definition(index, self._depth(line), name)

    def _depth(self, line: str) -> int:
        if self.is_prose:
            return len(line) - len(line.lstrip("#"))
        # The keys of a section are not indented.
        return -1 if self.is_settings and line.startswith("[") else indentation(line)

    def is_inside_fence(self, above: Sequence[str]) -> bool:
        """Return whether the lines of a document end in a code block."""
        is_code = False
        for line in above if self.is_prose else ():
            is_code ^= (_FENCE_END if is_code else _FENCE).match(line) is not None
        return is_code

    def above(self, lines: Sequence[str]) -> list[Definition]:
        """Return the definitions that enclose what stands below the lines, the innermost first."""
        if self.is_prose:
            return [*self.definitions(lines)][-1:]
        found: list[Definition] = []
        limit = 1_000
        for index in range(len(lines) - 1, max(-1, len(lines) - _MAX_ABOVE), -1):
            line = lines[index]
            if not line.strip() or (indent := self._depth(line)) >= limit:
                continue
            if not _CONTINUES.match(line):
                limit = indent
            if name := self.name(line):
                found.append(Definition(index, indent, name, _is_type(line, name)))
            if limit < (0 if self.is_settings else 1):
                break
        return found


class _OpenTypes:
    """The types that enclose a line, while lines are read; each with the depth of its members."""

    def __init__(self, outermost: Definition | None) -> None:
        self._open: list[tuple[int, int | None]] = []
        if outermost is not None:
            self._open.append((outermost.indent, None))

    def open(self, found: Definition) -> None:
        self.is_at(found.indent)
        if found.is_type:
            self._open.append((found.indent, None))

    def is_at(self, indent: int) -> bool:
        """Close the types that end above a line; return whether it is as deep as members are."""
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()
        if not self._open:
            return False
        of_type, of_members = self._open[-1]
        if of_members is None:
            self._open[-1] = (of_type, indent)
        return of_members in {None, indent}

    def is_member(self, line: str) -> bool:
        return not (_CONTINUES.match(line) or is_comment(line)) and self.is_at(indentation(line))


def _first_name(found: re.Match[str] | None) -> str:
    name = next(filter(None, found.groups()), "") if found else ""
    return name.strip().strip("\"'")


def _is_type(line: str, name: str) -> bool:
    return _TYPE.search(line[: line.find(name.rpartition(".")[2])]) is not None


def _languages() -> Mapping[str, Language]:
    members = {ext: one for exts, one in _MEMBERS.items() for ext in exts.split()}
    languages = {
        extension: Language(
            re.compile(rf"[ \t]*(?:{pattern})"),
            is_settings=patterns is _SETTINGS,
            member=re.compile(rf"[ \t]*(?:{members[extension]})") if extension in members else None,
            scope="::" if extension in _WITH_COLONS else "#" if extension == "rb" else ".",
        )
        for patterns in (_PATTERNS, _SETTINGS)
        for extensions, pattern in patterns.items()
        for extension in extensions.split()
    }
    prose = Language(re.compile(_HEADING), is_prose=True)
    return languages | dict.fromkeys(_PROSE.split(), prose)


_LANGUAGES = _languages()


def language(path: str) -> Language | None:
    """Return the language of a file; None: it is unknown, or the file is generated."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if _GENERATED.search(path):
        return None
    is_make = name in {"Makefile", "makefile", "GNUmakefile"}
    extension = "mk" if is_make else "env" if name.startswith(".env") else name.rpartition(".")[2]
    return _LANGUAGES.get(extension.lower())


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip()) if "\t" not in line else _tabbed(line)


def _tabbed(line: str) -> int:
    expanded = line[:_LONGEST_LINE].expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def is_comment(line: str) -> bool:
    return bool(_COMMENT.match(line))


def owners(
    lines: Sequence[str], found: Sequence[Definition], kind: Language
) -> list[Definition | None]:
    """Return for each line the innermost definition that it is part of."""
    starts = {one.line: one for one in found}
    stack: list[Definition] = []
    owned: list[Definition | None] = []
    for index, line in enumerate(lines):
        start = starts.get(index)
        if start is not None:
            while stack and stack[-1].indent >= start.indent:
                stack.pop()
            stack.append(start)
        elif not kind.is_prose and line.strip() and not _CONTINUES.match(line):
            indent = indentation(line)
            while stack and stack[-1].indent >= indent:
                stack.pop()
        owned.append(stack[-1] if stack else None)
    if not kind.is_prose:
        for one in found:
            index = one.line - 1
            while index >= 0 and is_comment(lines[index]) and index not in starts:
                owned[index] = one
                index -= 1
    return owned


def parents(found: Sequence[Definition]) -> Mapping[int, Definition]:
    """Return the definition that encloses each one, by its line."""
    stack: list[Definition] = []
    enclosing: dict[int, Definition] = {}
    for one in found:
        while stack and stack[-1].indent >= one.indent:
            stack.pop()
        if stack:
            enclosing[one.line] = stack[-1]
        stack.append(one)
    return enclosing
