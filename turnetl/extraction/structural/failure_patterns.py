"""How test runners, compilers, linters and other programs print what failed."""

import re

VARIABLE_PARTS = (
    (re.compile(r"(?:/private)?/(?:tmp|var/folders)/[^\s'\"`:,)]{1,300}"), "…"),
    (re.compile(r"/(?:Users|home)/[^\s'\"`:,)]{1,300}/(?=[^\s/'\"`:,)]{1,100})"), "…/"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
        r"|\b(?=[a-f]*\d)[0-9a-f]{10,64}\b"), "…"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,16}\b"), "0x…"),
    (re.compile(r"(?<=\bafter )\d{1,6}(?:\.\d{1,6})?(?: ?ms|s)\b"), "…"),
    (re.compile(r"(?<=\w):\d{1,6}(?:[:-]\d{1,6})?\b"), ""),
    (re.compile(r"\b(?:line|column|pid) \d{1,7}\b|\bport \d{5,7}\b"), "…"),
    (re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d[T ]?(?:\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?"), "…"),
    (re.compile(r"\x1b\[[0-9;]{0,10}[A-Za-z]"), ""),
    (re.compile(r"https?://[^\s'\"`)]{1,300}|\b\d{1,6}(?:\.\d{1,6})?(?: ?ms|s|m\d{1,2}s)\b"), ""),
    (re.compile(r"[\s\x00-\x1f\x7f]+"), " "),
)  # fmt: skip
ANSI = re.compile(r"\x1b\[[0-9;]{0,10}[A-Za-z]")
BOX = re.compile(r"^[\u2502\u2577\u2575] ?| *\u2502$", re.MULTILINE)
"""What Terraform and Typer draw beside a message."""
TASK_PREFIX = re.compile(
    r"^\[(?!warn|error|info|debug)(?:[a-z][\w:.-]{0,40}|\d)\] (?!ERROR task failed|\$ )"
    r"|^#\d{1,3} \d{1,5}\.\d{1,4} ",
    re.MULTILINE,
)
"""What a runner of several tasks, or a build of Docker, prints before each line."""
CI_PREFIX = re.compile(
    r"^(?:[^\t\n]{1,80}\t[^\t\n]{1,80}\t)?\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,18}Z ", re.MULTILINE
)
"""Job, step and time before each line of a log that `gh run view` prints."""
CI_MARK = "##[error]"
"""What a runner of GitHub prints before its errors."""

_PATH = r"(?:[A-Z]:\\)?[^\s:()'\"]{1,200}"
_KIND = (
    r"(?:[A-Za-z_]\w{0,40}(?:\.|::)){0,6}(?:[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Failure)"
    r"|Error)(?: \[[A-Z_]{3,60}\])?"
)
TYPED_ERROR = re.compile(
    rf"^(?:E[ ]{{1,8}}|Uncaught |Caused by: |Exception in thread \"[^\"\n]{{1,80}}\" "
    rf"|Unhandled exception\. |\[?(?:!\] )?|\*\* \()({_KIND})\b(?:(?:\)|:) (.{{0,300}}))?$",
    re.MULTILINE,
)
TRACE = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
RAISED = re.compile(r"([A-Za-z_][\w.]{2,120})(?:: (.{0,300}))?$")
CHAINED = re.compile(r"^(?:During handling of the above|The above exception was)", re.MULTILINE)
FRAMES = (
    re.compile(r"^ {0,8}File \"([^\"\n]{1,300})\", line \d", re.MULTILINE),
    re.compile(r"^\s{1,8}at (?:[^\n(]{1,150} \()?(?:file://)?(/[^\n():]{1,200}):\d", re.MULTILINE),
    re.compile(r"^\s{1,8}at [\w.$<>/]{1,150}\(([\w.-]{1,80}\.(?:java|kt|scala)):\d", re.MULTILINE),
    re.compile(r"^\t(/[^\n:]{1,200}\.go):\d", re.MULTILINE),
    re.compile(r"^\s{1,8}at [^\n]{1,200} in (/[^\n:]{1,200}):line \d", re.MULTILINE),
    re.compile(r"^\s{1,8}#\d{1,3} 0x\w{1,16} in \S{1,150} (/[^\s:]{1,200}):\d", re.MULTILINE),
    re.compile(rf"^({_PATH}):\d{{1,6}}: ?(?:in [\w`'<]|{_KIND}$)", re.MULTILINE),
)
"""Where an error occurred: Python, JavaScript, Java, Go, .NET, sanitizers, pytest and Ruby."""
LIBRARY = re.compile(
    r"^<|site-packages|node_modules|/lib/python|/go/pkg/mod/|/usr/local/go/|/src/runtime/"
)


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


_TITLE = r"[^\n]{3,150}"
TESTS = _patterns(
    # pytest, with and without its summary; unittest
    rf"^(?:FAILED|ERROR) (?P<location>{_PATH}\.py)::(?P<test>[^\s\[]{{1,150}})"
    r"(?:\[[^\n]{0,150}?\](?= - |\s*$))?(?: - (?P<message>[^\n]{1,300}))?",
    r"^_{3,80} (?:ERROR at (?:setup|teardown) of )?(?:\w{1,80}\.){0,3}"
    r"(?P<test>test\w{0,150})(?:\[[^\n]{0,100}\])? _{3,80}$",
    r"^(?:FAIL|ERROR):? (?P<test>test_\w{1,100}) \((?!unittest\.loader)(?P<location>[\w.]{1,150})"
    r"\)",
    r"^panic: test timed out after \S{1,20}\n\s{1,8}running tests:\n\s{1,16}"
    r"(?P<test>Test[\w/]{1,150}) \(",
    # Rust
    r"^test (?P<test>[\w:]{1,200}) \.\.\. FAILED$",
    r"^\s{0,12}FAIL \[ {0,8}[\d.]{1,12}s\] (?:\([ \d/]{1,12}\) )?\S{1,100} (?P<test>[\w:]{1,200})$",
    r"^test (?P<location>\S{1,150}\.rs) - (?P<test>[\w:]{1,150}) \(line \d{1,6}\) \.\.\. FAILED$",
    # TAP, node, jest, vitest, mocha, bun, Playwright
    r"^\s{0,8}not ok \d{1,6} (?:- )?(?P<test>[^\n#]{3,150})$",
    rf"^test at (?P<location>{_PATH}):\d+:\d+\n[✖✗] (?P<test>{_TITLE}?)(?: \([\d.]{{1,9}}ms\))?$",
    rf"^\s{{0,12}}(?:✕|✗|✖|\u00d7|\u2718 {{1,3}}\[fail\]:) (?P<test>{_TITLE}?)"
    r"(?: \(?[\d.]{1,9} ?m?s\)?)?$",
    rf"^(?P<test>{_TITLE}) => (?P<location>{_PATH}):\d+:\d+\n(?:error: "
    rf")?(?P<message>[^\n]{{3,300}})",
    r"^\s{0,4}● (?!Console|Test suite|Cannot|Deprecation|Validation)(?P<test>[^\n]{3,300})$",
    r"^\s{0,4}FAIL {1,4}(?:\|[\w -]{1,40}\| )?(?P<location>[^\s>]{1,200}) > (?P<test>[^\n]{3,200})"
    r"$",
    rf"^ {{2,4}}\d{{1,3}}\) {_TITLE}(?:\n {{5,20}}[^\n]{{1,150}}){{0,4}}"
    rf"\n {{5,20}}(?!Failure/Error)(?P<test>{_TITLE}):\n",
    rf"^\(fail\) (?P<test>{_TITLE}?)(?: \[[\d.]{{1,9}}m?s\])?$",
    rf"^ {{0,4}}\d{{1,3}}\) (?:\[[\w -]{{1,30}}\] \u203a )?(?P<location>{_PATH}):\d+:\d+ \u203a "
    rf"(?P<test>{_TITLE}?)(?: ?\u2500{{1,200}})?$",
    # RSpec, minitest, PHPUnit, ExUnit
    rf"^rspec (?P<location>{_PATH}\.rb)\S{{1,40}} # (?P<test>{_TITLE})$",
    rf"^(?: {{0,4}}\d{{1,3}}\) )?(?:Failure|Error):\n[\w:]{{1,100}}#(?P<test>\w{{1,150}})"
    rf"(?: \[(?P<location>{_PATH}):\d+\])?:\n(?P<message>[^\n]{{3,300}})",
    r"^\d{1,3}\) (?P<test>[\w\\]{1,150}::\w{1,100})[^\n]{0,100}\n(?P<message>[^\n]{3,300})",
    rf"^ {{2,4}}\d{{1,3}}\) test (?P<test>{_TITLE}) \([\w.]{{1,100}}\)\n {{1,12}}"
    rf"(?P<location>{_PATH}):\d",
    rf"^\s{{0,4}}FAILED {{1,4}}[\w\\]{{1,150}} > (?P<test>{_TITLE}?)(?: {{2,80}}\S{{1,60}} *)?\n"
    rf"\s{{0,8}}(?P<message>[^\n]{{3,300}})(?:[^\n]{{0,300}}\n){{1,5}}?\s{{1,4}}at "
    rf"(?P<location>{_PATH}):\d",
    # Swift, .NET, Maven, ScalaTest, Gradle, CTest, GoogleTest, Catch2, Bazel, Flutter, Forge
    rf"^(?P<location>{_PATH}):\d+: error: (?:-\[[\w.]{{1,100}} (?P<test>\w{{1,100}})\]"
    rf"|[A-Z]\w{{1,80}}\.(?P<test2>test\w{{1,100}})) : (?P<message>[^\n]{{1,300}})",
    rf"^[\u2718✗] Test \"?(?P<test>[^\n\"]{{3,150}}?)\"? recorded an issue at "
    rf"(?P<location>{_PATH}):\d+:\d+: (?P<message>[^\n]{{1,300}})",
    r"^\s{0,4}Failed (?:\w{1,80}\.){0,8}(?P<test>\w{3,150})(?:\([^\n]{0,80}\))? \[[^\]\n]{1,20}\]"
    r"(?:\n\s{1,8}Error Message:\n\s{1,8}(?P<message>[^\n]{3,300}))?",
    r"^\[ERROR\] {1,4}\w{1,100}\.(?P<test>\w{1,100}):\d{1,6} (?:\u00bb )?(?P<message>[^\n]{3,300})",
    rf"^\[info\] {{1,4}}- (?P<test>{_TITLE}?) \*\*\* FAILED \*\*\*\n\[info\] {{1,6}}"
    r"(?P<message>[^\n]{3,300})",
    r"^(?:\w{1,80} > ){1,4}(?P<test>[^\n>]{2,150}) FAILED$",
    r"^\s{1,8}\d{1,5} - (?P<test>[\w./:-]{2,150}) \((?:Failed|SEGFAULT|Timeout|Not Run)\)",
    rf"^(?P<location>{_PATH}):\d+: Failure\n(?P<message>[^\n]{{3,300}})(?:\n(?!\[)"
    rf"[^\n]{{0,300}}){{0,12}}\n\[  FAILED  \] (?P<test>[\w./]{{3,150}})(?= \()",
    r"^\[  FAILED  \] (?P<test>\w[\w/]{1,100}\.[\w./]{1,100})",
    rf"^-{{20,100}}\n(?P<test>{_TITLE})\n(?: {{1,8}}[^\n]{{1,150}}\n){{0,4}}-{{20,100}}\n"
    rf"(?P<location>{_PATH}):\d+\n\.{{20,100}}$",
    r"^(?P<test>//[\w./:-]{3,150}) {1,100}(?:FAILED|TIMEOUT|NO STATUS)\b",
    rf"^\d\d:\d\d \+\d{{1,5}}(?: ~\d{{1,5}})? -\d{{1,5}}: (?P<test>{_TITLE}?) \[E\]",
    r"^\[FAIL[:.] (?P<message>[^\n]{3,200}?)\] (?P<test>\w{3,100})\([^\n)]{0,100}\) \(",
)
GO_TEST = re.compile(
    r"^\s{0,20}(?:--- FAIL:|=== FAIL: \S{1,200}) (?P<test>[\w/.:#=-]{1,200})(?= \(|$)",
    re.MULTILINE,
)
GO_MESSAGE = re.compile(r"^\s{1,24}(?P<location>[\w/.-]{1,100}\.go):\d+: (?P<message>[^\n]{3,300})")
GO_PLACE = re.compile(r"^\s{1,24}(?P<location>[\w/.-]{1,100}\.go):\d+:\s{0,9}$")
TESTIFY = re.compile(r"^\s{1,24}Error:\s{1,9}(\S[^\n]{2,300})", re.MULTILINE)
GO_PANIC = re.compile(r"^(panic: [^\n]{3,300}?)(?: \[recovered[^\n]{0,40}\])?$", re.MULTILINE)
GO_STEP = re.compile(r"^\s{0,20}(?:---|===) ")
GO_PACKAGE = re.compile(r"^FAIL\t(\S{1,200})", re.MULTILINE)
REASON = re.compile(
    rf"^\s{{0,12}}(?:E {{1,8}})?(?P<first>{_KIND}:(?: |[ ]?\nE {{1,12}})[^\n]{{3,300}}"
    r"|fixture '[^'\n]{1,80}' not found|expect(?:\(|ed\b)[^\n]{5,300}|Failure/Error: [^\n]{3,300}|"
    r"assertion [^\n]{5,300}"
    r"|thread '[^'\n]{1,200}' (?:\(\d{1,9}\) )?panicked at [^\n]{3,200}\n[^\n]{3,300})",
    re.MULTILINE,
)
VALUES = re.compile(
    r"^[ \t|E]{0,24}(?P<one>(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|got|want|left|right)\b {0,2}: ?\S"
    r"[^\n]{0,100})$",
    re.MULTILINE,
)
REASON_MARK = re.compile(
    r"^thread '[^'\n]{1,200}' (?:\(\d{1,9}\) )?panicked at [^\n]*\n|^Failure/Error: |\nE {1,12}"
)
NEXT_TEST = re.compile(
    r"^\s{0,4}(?:\d{1,3}\) |● |_{3,80} |(?:FAIL|ERROR):? |---- |rspec |test |failures:)",
    re.MULTILINE,
)
COUNTS_TESTS = re.compile(
    r"Some tests failed|^\s{0,4}(?:Tests?|Test Suites|Test Files)\b:? |\b\d{1,6} (?:passed|failed"
    r"|passing|failing|tests?)\b|\btests FAILED:|^.{0,2}(?:fail|tests) \d",
    re.MULTILINE,
)
"""That a program ran tests: others put these marks before messages."""
TEST_FILE = re.compile(
    r"^\s{0,4}(?:FAIL|\u276f) {1,4}(?P<location>[^\s>]{1,200}\.\w{1,5})\b", re.MULTILINE
)
"""The line above the tests of a file, as Jest prints it."""
NO_TITLES = re.compile(r"[\u2570\u256d\u251c]\u2500|\u2501{3}|^\u2716 \d+ problem", re.MULTILINE)
"""Programs that put the mark of a failed test before other things: uv, Biome, ESLint."""
FINDINGS = _patterns(
    # Linters that end a line with their rule: golangci-lint, staticcheck, mypy, ShellCheck, ESLint
    rf"^(?P<location>{_PATH}\.l?hs):\d+:\d+: error:(?: \[(?P<rule>GHC-\d{{3,6}})\])?[^\n]{{0,80}}\n"
    r" {1,8}(?P<message>\S[^\n]{3,300})",
    rf"^(?P<location>{_PATH}\.\w{{1,5}}):\d+(?::\d+)?: (?:error: |\w{{4,7}}: (?="
    rf"[^\n]{{5,300}}\[SC\d))?"
    r"(?!warning:|note:|[CWEFR]: )(?P<message>[^\n]{5,300}?) {1,2}(?:\((?P<rule>[a-z][\w:-]{1,40}"
    r"|[A-Z]{1,4}\d{3,5})\)|\[(?:Error/)?(?P<rule2>[A-Za-z][\w/@-]{2,50})\])$",
    rf"^(?P<location>{_PATH}\.rb):\d+:\d+: [CWEF]: (?:\[\w{{1,20}}\] )?(?P<rule>[A-Z]\w{{1,40}}/"
    rf"[\w/]{{2,60}}): (?P<message>[^\n]{{3,300}})",
    rf"^ERROR: (?P<rule>[A-Z]\w{{3,60}}) - (?P<location>{_PATH}):\d+:\d+ - "
    rf"(?P<message>[^\n]{{3,300}})",
    rf"^>> Issue: \[(?P<rule>B\d{{3}})[^\]\n]{{0,80}}\] (?P<message>[^\n]{{3,300}})(?:\n"
    rf"[^\n]{{0,200}}){{0,4}}?\n {{1,8}}Location: (?P<location>{_PATH}):\d",
    rf"^\s{{0,4}}[\u00d7x✖] (?P<rule>[\w-]{{2,30}}\([\w/-]{{2,50}}\)): (?P<message>"
    rf"[^\n]{{3,300}})\n[^\n\[]{{0,40}}\[(?P<location>{_PATH}):\d",
    rf"^(?P<location>{_PATH}):\d+(?::\d+)? (?P<rule>(?:DL|MD)\d{{3,4}})(?:/[\w-]{{1,60}})?:? (?:"
    rf"[a-z]{{4,7}}: )?(?P<message>[^\n]{{3,300}})",
    rf"^(?P<location>{_PATH}\.pyi?):\d+:\d+:? (?P<rule>[A-Z]{{1,5}}\d{{3,4}}|invalid-syntax):? "
    r"(?:\[\*\] )?(?P<message>[^\n]{3,300})$",
    r"^X (?P<message>[^\n]{5,300}?) \((?P<rule>[a-z][\w-]{1,30})\)\n[\w ./-]{1,80}: "
    rf"(?P<location>{_PATH})#\d",
    r"^(?P<rule>[A-Z]{1,5}\d{3,4}|invalid-syntax)(?: \[\*\]|:)? (?P<message>[^\n]{3,300})\n"
    rf"\s{{0,8}}--> (?P<location>{_PATH}):\d",
    rf"^\s{{0,4}}(?P<location>{_PATH}\.pyi?):\d+:\d+ - error: (?P<message>[^\n]{{3,300}}?)"
    r"(?: \((?P<rule>report\w{3,50})\))?$",
    r"^\s{0,8}\d+:\d+\s{1,8}(?:error|Error:|✖)\s{1,8}(?P<message>[^\n]{3,200}?)\s{2,40}"
    r"\(?(?P<rule>@?[a-z][\w@/-]{2,60})\)?$",
    r"^\s{1,8}\d+:\d+\s{1,8}error\s{1,8}(?P<rule>Parsing error): (?P<message>[^\n]{3,200})$",
    r"^\s{1,8}\d+:\d+:? (?P<rule>[A-Z]{1,5}\d{3,4}):? (?:\[\*\] )?(?P<message>[^\n]{3,300})$",
    r"^ {1,4}\d{1,6} {2,8}(?P<message>[A-Z][^\n]{5,300})"
    r"\n {4,16}\U0001faaa {1,3}(?P<rule>[\w.]{3,60})$",
    rf"^\s{{1,4}}error \u2022 (?P<message>[^\n]{{3,300}}) \u2022 (?P<location>{_PATH}):\d+:\d+ "
    r"\u2022 (?P<rule>\w{3,60})$",
    rf"^(?P<location>{_PATH}):\d+:\d+ (?P<rule>(?:lint|assist)/[\w/]{{3,60}}|parse)"
    r"[^\n]{0,200}\n\n\s{1,4}[\u00d7✖] (?P<message>[^\n]{3,300})",
    r"^\s{0,80}\^-{1,60}\^? (?P<rule>SC\d{4}) \((?:error|warning|info|style)\): "
    r"(?P<message>[^\n]{3,300})",
    rf"^\[warn\] (?P<location>{_PATH}\.\w{{1,6}})(?P<rule>)(?P<message>)$",
    rf"^(?:would reformat|Would reformat:|Diff in) (?P<location>{_PATH}\.\w{{1,6}})"
    r"(?P<rule>)(?P<message>)(?=[\s:]|$)",
    rf"^(?:ERROR: )?(?P<location>{_PATH}\.\w{{1,6}}) (?:format \u2501|Imports are incorrectly "
    r"sorted)(?P<rule>)(?P<message>)",
    rf"^\[error\] (?P<location>{_PATH}\.\w{{1,6}}): (?P<message>\w{{3,30}}: [^\n]{{3,300}}?)"
    r"(?: \(\d+:\d+\))?$",
    rf"^(?P<location>{_PATH}\.\w{{1,6}}):\d+:\d+\nError: (?P<message>[^\n]{{3,300}}?)(?: "
    rf"\(\w{{2,10}}\))?$",
    r"^(?P<kind>error\[[\w:-]{3,60}\]): (?P<message>[^\n]{3,300})"
    rf"(?:\n\s{{0,8}}--> (?P<location>{_PATH}):\d)?",
    rf"^error: (?P<message>[^\n]{{3,300}})\n\s{{0,8}}--> (?P<location>{_PATH}):\d"
    r"(?:[^\n]{0,300}\n(?!error|warning)){0,12}?[^\n]{0,40}`-D (?P<rule>clippy::[\w-]{3,60})`",
    rf"^error: (?P<message>[^\n]{{3,300}})\n\s{{0,8}}--> (?P<location>{_PATH}):\d",
    rf"^(?:Error: )?(?:\s{{0,4}}(?P<location>{_PATH}\.\w{{1,7}})(?:\(\d+,\d+\)|:\d+:\d+)?(?:: | - "
    rf"| : )|MSBUILD : )?error "
    r"(?P<kind>[A-Z]{1,8}\d{2,5}): (?P<message>[^\n]{3,300}?)(?: \[[^\]\n]{3,200}\])?$",
    # Terraform, Maven, Kotlin, javac, CMake, esbuild, Next.js, webpack, Swift
    rf"^Error: (?P<message>[^\n]{{3,300}})\n\s{{1,4}}on (?P<location>{_PATH}) line \d",
    rf"^\[ERROR\] (?P<location>{_PATH}):\[\d+,\d+\] (?:error: )?(?P<message>[^\n]{{3,300}})",
    rf"^e: (?:file://)?(?P<location>{_PATH}):(?:\d+:\d+| \(\d+, ?\d+\):) "
    rf"(?P<message>[^\n]{{3,300}})",
    rf"^(?P<location>{_PATH}\.\w{{1,5}})(?::\d+)?: error: (?!-\[)(?P<message>(?!\w{{1,80}}\.test)"
    r"[^\n]{3,300}(?:(?:\n(?!\S)[^\n]{0,200}){1,3}?\n  symbol: {1,4}[^\n]{3,150})?)",
    rf"^CMake Error at (?P<location>{_PATH}):\d+ \([^)\n]{{1,60}}\):\n\s{{1,4}}"
    rf"(?P<message>[^\n]{{3,300}})",
    rf"^[\u2718✘X] \[ERROR\] (?P<message>[^\n]{{3,300}})\n\n\s{{1,8}}(?P<location>{_PATH}):\d",
    rf"^(?P<location>\./{_PATH})(?::\d+:\d+)?\n"
    rf"(?P<message>(?:Type error|Module not found): [^\n]{{3,300}})",
    rf"^level=error msg=\"[^\n]{{0,120}}?(?P<location>{_PATH}\.\w{{1,5}}):\d+:\d+: "
    r"(?P<message>[^\n\"]{3,300})",
    rf"^[^\n]{{0,40}}\bnot (?:properly |go)?format[^\n]{{0,40}}:\n(?P<location>{_PATH}\.\w{{1,6}})"
    r"(?P<rule>)(?P<message>)$",
    r"^(?:\[tsl\] )?ERROR in (?P<location>\.?/[^\s:('\"]{1,200})[^\n]{0,40}\n\s{0,8}(?!\.?/)"
    r"(?P<message>[^\n]{3,300})",
    r"^\s{0,6}\d{1,6} \| ERROR {1,4}\| (?:\[.\] )?(?P<message>[^\n]{3,300})",
    rf"^(?:vet: |# |\[error\] )?(?P<location>{_PATH}\.\w{{1,5}}):\d+:\d+: (?:fatal error: |error: "
    r"|Error: |ERROR: )?(?!warning|note|info|help)(?P<message>[A-Za-z'\u2018\"][^\n]{5,300})",
)
WRAPPED = re.compile(
    rf"^{_PATH}\.\w{{1,5}}:\d+:\d+: (?:[^\n]{{5,300}}\n\s{{1,4}}"
    r"|[^\n`]{0,200}`[^`\n]{0,300}(?:\n[^`\n]{0,300}){1,20}`[^\n]{0,200} )\([a-z][\w:-]{1,40}\)$"
    r"|^\s{1,8}\d+:\d+\s{1,8}error\s[^\n]{5,300}\n\s{8,40}[A-Za-z][^\n]{0,200} {2}@?[\w/-]{2,60}$",
    re.MULTILINE,
)
"""A message of a linter that goes on in the next lines, as a quoted text: its rule ends it."""
FORMATTING = re.compile(
    r"not (?:properly |go)?format|incorrectly sorted|Formatter would have|Code style issues|would "
    r"reformat|would be reformatted|^Diff in ",
    re.MULTILINE | re.IGNORECASE,
)
LINE_BREAK = re.compile(r"\s*\n\s*")
RULE_CODE = re.compile(r"^([A-Z]{1,5}\d{2,5})(?: ?\(related information\))?: ")
LISTED_FILE = re.compile(
    r"^(?:In (?=\S{1,200} line \d)| {1,3}Line {2,6}|FILE: )?((?:/|\./)?[\w@./-]{1,200}\.\w{1,5})"
    r"(?:(?: line \d{1,6})?:)?$",
    re.MULTILINE,
)
"""The line above the findings of ESLint, ShellCheck, Ruff, PHPStan and PHP_CodeSniffer."""
ERRORS = _patterns(
    rf"^(?:FAILED|ERROR) (?P<location>{_PATH}\.py) - (?P<message>[^\n]{{3,300}})$",
    r"^(?P<kind>panic): (?P<message>[^\n]{3,300}?)(?: \[recovered\])?$",
    rf"^thread '[^'\n]{{1,200}}' (?:\(\d{{1,9}}\) )?(?P<kind>panicked) at (?P<location>{_PATH})"
    r":\d+:\d+:\n(?P<message>[^\n]{3,300})",
    r"^(?:(?:/bin/)?(?:zsh|bash|sh)|\(eval\)|\S{1,150}\.sh)[:\w() -]{0,40}: (?:line \d+: )?"
    r"(?P<message>[^\n]{1,150}: (?:command )?not found|command not found: [^\n]{1,80})$",
    rf"^(?P<location>{_PATH}):\d+:in [`'][^'\n]{{1,80}}': (?P<message>[^\n]{{3,300}}?)"
    r" \((?P<kind>[A-Z][\w:]{2,60})\)$",
    rf"^(?P<kind>{_KIND}):\n\s{{2,10}}(?P<message>[^\n]{{3,300}})",
    r"^(?P<kind>(?:PG|Mysql2|SQLite3)::\w{3,40}): (?:ERROR: {1,2})?(?P<message>[^\n]{3,300})",
    r"^(?:PHP )?(?:Fatal|Parse) error: {1,2}(?:Uncaught )?(?P<message>[^\n]{3,300}?) in "
    rf"(?P<location>{_PATH})(?::\d+| on line \d+)$",
    rf"^thread '[^'\n]{{1,200}}' (?P<kind>panicked) at '(?P<message>[^\n]{{3,300}})', "
    rf"(?P<location>{_PATH}):\d",
    r"^==\d{1,9}==ERROR: (?P<message>\w{4,20}Sanitizer: [\w-]{3,60})",
    r"^[^\n]{0,120}\b(?P<message>Segmentation fault|Bus error|Abort(?:ed| trap: \d))"
    r"(?: {1,8}\(core dumped\)[^\n]{0,100})?$",
    r"^(?P<kind>Undefined symbols?)[^\n]{0,60}:\n\s{1,4}\"(?P<message>[^\"\n]{1,200})\", "
    r"referenced",
    r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?P<message>[^\n]{5,300})\nexit status [1-9]",
    r"^\[ERROR\] Failed to execute goal (?:\S{1,150} \([\w.-]{1,60}\) )?on project [\w.-]{1,80}: "
    r"(?P<message>[^\n]{5,300}?)(?: -> \[Help \d\])?$",
    r"^- (?P<kind>hook) id: (?P<message>[\w-]{2,60})$",
    r"^fatal: \[[^\]\n]{1,80}\]: (?:FAILED|UNREACHABLE)! => \{[^\n]{0,2000}?\"msg\": "
    r"\"(?P<message>[^\"\n]{3,300})\"",
    r"^ ?ERR_PNPM_[A-Z_]{3,60}[ \u2009]{1,3}(?P<message>[^\n]{5,300})$",
    r"^\u27a4 YN0{1,2}(?!000)\d{2,3}: \u2502 (?P<message>[^\n]{5,300})$",
    r"^error (?P<message>(?:Command|Couldn't|Could|An|Found|No|Invalid|Your) [^\n]{5,300})$",
    r"^(?:mise|task|Task)[: ] ?(?:ERROR )?(?P<message>no task [^\n]{2,100} found|Task "
    r"\"[^\n]{3,100} does not exist)$",
    r"^\[ERROR\] (?P<message>templates/[^\n]{5,300})$",
    r"^dependency failed to start: (?P<message>[^\n]{5,300})$",
    r"^X (?P<message>Pull request [^\n]{5,300})$",
    r"^\S{3,80}: (?P<message>Permission denied \([\w,-]{3,60}\))",
    r"^remote: (?:error: )?(?P<message>(?!Resolving|Counting|Enumerating|Compressing|Total)"
    r"GH\d{3}: [^\n]{5,300})$",
    r"^\S{0,150}python[\d.]{0,5}: (?P<message>No module named [^\n]{2,100})$",
    r"^\s{0,4}X (?P<job>[^\n]{2,80}) in \d[\dhms]{1,9} \(ID \d{1,20}\)$",
    r"^(?P<job>[^\t\n]{2,80})\tfail\t",
    r"^\* (?P<message>[a-z][\w-]{3,30}): \d{1,4}$",
    r"^FAILED: (?P<message>[^\n]{5,300})$",
    r"^(?P<kind>fatal): (?P<message>[^\n]{5,300})$",
    r"^(?P<message>CONFLICT \([\w/ -]{3,40}\): [^\n]{5,300})$",
    r"^ ! \[(?:remote )?(?P<kind>rejected)\] {1,20}(?P<message>[^\n]{5,300})$",
    r"^npm (?:ERR!|error) (?!A complete log|To see |Did you |This is |code |path |errno "
    r"|While |Found: |node_modules|peer |syscall |Lifecycle|404 (?:Not Found| The )|[\s\[{}(])"
    r"(?P<message>[^\n]{8,300})$",
    r"^\s{0,4}\u00d7 (?P<message>[^\n]{5,300}\n\s{1,6}\u2570\u2500\u25b6 [^\n]{5,300}"
    r"(?:\n {6,12}\S[^\n]{0,200}){0,3})",
    r"^(?:docker: )?Error (?:response from daemon|from server(?: \(\w{1,40}\))?): "
    r"(?P<message>[^\n]{5,300})$",
    r"^psql(?::[^\s:]{1,200}:\d+)?: (?:error|ERROR|FATAL): {1,2}(?P<message>[^\n]{5,300})$",
    r"^ERROR \d{4} \(\w{5}\)[^:\n]{0,40}: (?P<message>[^\n]{5,300})$",
    r"^\* What went wrong:\n(?P<message>[^\n]{5,300}(?:\n> [^\n]{5,300})?)",
    r"^(?:\S{1,200}: )?(?P<message>undefined (?:reference to|symbol:?) [^\n]{3,200})$",
    r"^make(?:\[\d\])?: \*\*\* "
    r"(?P<message>No rule to make target [^\n]{3,200}?)(?:\. {1,2}Stop\.)?$",
    r"^go: (?P<message>(?!downloading|finding|added|upgraded|extracting)[^\n]{5,300})$",
    r"^\s{2,8}(?P<message>Cannot find module '[^\n]{3,200})$",
    r"^(?:\[!\] )?(?:Error|ERROR|error|Fatal error|FATAL ERROR): {1,2}(?!test\w{0,99} \()"
    r"(?P<message>[^\n]{5,300})$",
    r"^(?!clang|g?cc|ld|collect2)[\w.-]{2,40}: error: (?P<message>[^\n]{5,300})$",
)
PROGRAM_ERROR = re.compile(
    r"^(?:Output: )?(?:[\w()/-]{1,20}: ?)?(?:line \d{1,5}: |\d{1,5}: )?(?P<program>[\w.-]{1,20}): "
    r"(?P<message>[^\n]{5,300})$",
    re.MULTILINE,
)
FAILURE_WORD = re.compile(
    r"\b(?:error|fail(?:ed|ure)?|cannot|can't|could not|not found|denied|refused|invalid|missing"
    r"|unable|no such|unknown|undefined|unexpected|no module|not formatted|unauthorized"
    r"|timed out|conflict|rejected|forbidden|couldn't|not allowed|does(?: not|n't)|out of memory"
    r"|not installed|changed significantly)\b",
    re.IGNORECASE,
)
RULER = re.compile(r"\W{0,3}([=_*#~-])\1{3,}")
"""A line that separates others; a title may stand in it."""
CUT_SUMMARY = re.compile(r"(?:\.\.\.|:\s*)$")
"""How the line of pytest's summary ends that has only the beginning of a message."""
GENERIC_MESSAGE = re.compile(
    r"^(?:\w{0,30}error: )?(?:exit (?:code|status) \d|exit$|\(none\)|process completed"
    r"|the operation was cancell?ed|task (?:failed|exited)|(?-i:FAIL(?:ED)?\b)|make: \*\*\*"
    r"|\[?\w{1,20}\]? ?(?:exited|failed)(?=:?$|,| (?:with|after|due|\())|errors?$|failed$|killed$"
    r"|(?:\d{1,5} )?issues found|usage: |\[info\]|build fail|found \d|(?:\u2716 )?\d{1,5}/\d{1,5} "
    r"|\d{1,5} files? |[\u256d\u2500]{1,3} ?error|\[[\w:-]{1,40}\] ERROR task|command failed with"
    r"|lifecycle script|command timed out|failed to push some refs|no matching distribution found"
    r"|could not compile|aborting due to|subprocess-exited-with-error|script [\"'][^\"']{1,80}"
    r"[\"'] exited|the following error|errors? found|lint(?:er|ing)? (?:failed|errors)"
    r"|linker command|ld returned|externally-managed-env|your requirements could not"
    r"|oops! something|running program|compilation failed|an error (?:has )?occurred(?: while"
    r" loading|,)|failed to import test module|resolutionimpossible|error during build"
    r"|prisma schema validation|some issues, see|system check identified)",
    re.IGNORECASE,
)
RAN_TESTS = re.compile(r"^(?:ok {1,4}\t|\s{0,20}--- PASS|=== RUN|FAIL\t)", re.MULTILINE)
PASSED_TEST = re.compile(
    r"^\s{0,20}--- PASS: ([\w/.:#=-]{1,200})|^\S{1,200}?::(\S{1,150}) PASSED\b"
    r"|^test ([\w:]{1,200}) \.\.\. ok$|^\s{0,12}[✓✔] ([^\n]{3,120}?)(?: \(?[\d.]{1,9} ?m?s\)?)?$"
    r"|^\[ {7}OK \] ([\w./]{3,150})(?= \()",
    re.MULTILINE,
)
PASSED_JOB = re.compile(
    r"^(?:([^\t\n]{2,80})\tpass\t|\s{0,4}\u2713 ([^\n]{2,80}) in \d[\dhms]{1,9} \(ID \d{1,20}\)$)",
    re.MULTILINE,
)
PASSED_PACKAGE = re.compile(r"^ok {1,4}\t(\S{1,200})(?![^\n]*no tests to run)", re.MULTILINE)
FAILED_SUMMARY = re.compile(
    r"^(?:\s{0,8}--- FAIL|FAIL\b|FAILED\b|FAILURES?[!:]|\[[\w:-]{1,40}\] ERROR task failed"
    r"|make(?:\[\d\])?: \*\*\*|npm (?:ERR!|error)|(?:\[INFO\] )?BUILD FAIL|\*\* \w{4,9} FAILED"
    r"|test result: FAILED|panic: |error(?:\[[\w:-]{3,60}\])?: |exit status [1-9]|Exit code [1-9]"
    r"|# [\w.-]{1,80}/[\w./-]{1,200}$|\[warn\] Code style issues|e: (?:file:)?/|CMake Error"
    r"|thread '[^'\n]{1,200}' (?:\(\d{1,9}\) )?panicked at |\(fail\) |ERROR: failed to solve|\[  "
    r"FAILED  \]|\[info\] - [^\n]{3,150} \*\*\* FAILED|fatal error: |PHP (?:Fatal|Parse) error: "
    r"|==\d{1,9}==ERROR: |[^\s:]{1,200}\.\w{1,5}:\d{1,6}(?::\d{1,6})?: (?:fatal )?error: "
    r"|ERR_PNPM_|error during build:|[^\s:]{1,200}:\d{1,6}(?::\d{1,6})?:? [A-Z]{1,4}\d{3,5}:? "
    r"|Oops! Something went wrong|Traceback \(most recent call last\):$|Error: "
    r"(?=[^\n]{5,300}\n\s{1,4}on \S{1,200} line \d)|Failed to compile|.{0,12}: Some tests failed"
    r"|.{0,2}(?:fail|failed) [1-9]|\t {1,5}\d{1,5} - \S{1,150} \(Failed\)$|Failed!  - "
    r"|[^\t\n]{2,80}\tfail\t|\s{0,4}X [^\n]{2,80} in \d[\dhms]{1,9} \(ID )|\berror "
    r"[A-Z]{1,8}\d{2,5}:|: undefined reference to |\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing"
    r"|failures?|[Ee]rrors?|error\(s\)|problems?|issues?|fail|offenses?|would be reformatted)\b"
    r"|\b[1-9]\d{0,5} files? would be reformatted|\b(?:Failures|Errors|failures|errors)[:=] ?[1-9]",
    re.MULTILINE,
)
FATAL = re.compile(
    r"^(?:(?:error(?:\[E\d{4}\])?|Error|ERROR|panic|fatal|[a-z][\w.-]{1,30}: (?:error|fatal)): "
    r"\S+ \S|npm (?:ERR!|error) |BUILD FAILED|make: \*\*\* |! \[(?:remote )?rejected\] "
    r"|CONFLICT \(|Automatic merge failed|curl: \(\d|ssh: connect to |Exception in thread \""
    r"|\*\* \(\w|An error occurred \(\w+\) when calling|Error (?:response from daemon"
    r"|from server\b)|[^\n]{0,60}\bcommand not found(?:$|: )|pull request create failed: "
    r"|X Pull request |[^\n]{0,120}\bSegmentation fault|Execution halted|[\u2718X] \[ERROR\]"
    r"|\u00d7 No solution|Your requirements could not be resolved|e: file:)"
)
"""How a line begins that only a program prints that stops."""
TRACED = re.compile(
    rf"^(?:Uncaught )?{_KIND}: [^\n]{{3,300}}\n(?:[^\n]{{0,200}}\n){{0,6}}?\s{{1,8}}at "
    r"[^\n]{3,300}$",
    re.MULTILINE,
)
"""An exception that a program of JavaScript does not handle, with its first frame."""
_PASTED_KIND = r"((?:[A-Za-z_]\w{0,40}\.){0,4}[A-Z]\w{1,50}(?:Error|Exception|Warning))"
PASTED_ERROR = re.compile(
    rf"(?<=`){_PASTED_KIND}: ([^\n`]{{3,160}})|(?<!`)\b{_PASTED_KIND}: ([^\n]{{3,160}})"
    r"|^panic: ([^\n]{3,160})|^fatal: ([^\n]{3,160})|\b[Ee]rror: ((?:failed|cannot|could not|can't"
    r"|unable|no such|missing|unexpected) [^\n`]{8,160})",
    re.MULTILINE,
)
QUOTE_MARK = re.compile(r"^\s{0,8}(?:(?:>|[-*\u2022]|\d{1,2}\.) {1,3}){1,3}(?!\s{0,8}-{3})")
"""What stands before a line that a person quotes or lists."""
_DIAGNOSTIC = (
    rf"(?:{_PATH}\.\w{{1,5}}(?::\d+(?::\d+)?|\(\d+,\d+\)):? [\w`'\"]"
    r"|(?:FAILED|ERROR) \S{1,200}?::\w|--- FAIL: \w)"
)
DIAGNOSTIC = re.compile(_DIAGNOSTIC)
QUOTED_OUTPUT = re.compile(rf"`(?P<output>{_DIAGNOSTIC}[^`\n]{{0,300}})`")
OUTPUT_START = re.compile(
    rf"(?<=[:\w\]])[ \t]{{1,4}}(?={_DIAGNOSTIC})|^(?:Error|error): (?={_DIAGNOSTIC})",
    re.MULTILINE,
)
"""Where an output begins inside a line: "lint fails: cart.go:8:2: …"."""
NAMED_RULE = re.compile(
    r"(?<![\w/.-])`?(?P<rule>[A-Z]{1,5}\d{2,5}|(?:@[\w-]{2,30}/)?[a-z]{2,20}(?:[-/][a-z]{2,20}){1,4}"
    r"|errcheck|gosec(?: G\d{3})?|staticcheck|revive|govet|ineffassign|unparam|gocritic|misspell"
    r"|wrapcheck|forbidigo|unused|maintidx|gocyclo|funlen|lll|dupl|goconst|exhaustive|nilerr)"
    r"`? (?:in|at|on|for) (?:file )?`?(?P<location>(?=[^\s`]*\w\.[a-z]{1,5}\b)"
    r"[\w@./-]{1,200}\.[a-z]{1,5})(?::\d+){0,2}`?"
    r"(?:(?:: | [-\u2013\u2014] |, )(?P<message>[^\n]{3,300}))?"
)
EXIT_STATUS = re.compile(
    r"^\s{0,4}Exit [Cc]ode:? [1-9]|<exit_code>[1-9]"
    r"|^\W{0,4}(?i:exit(?:[ _]?(?:code|status))?|rc) ?[:=] ?[1-9]\d{0,2}$",
    re.MULTILINE,
)
EXIT_MARK = re.compile(
    r"^\W{0,3}(?:Process |Command |Shell )?(?:exited|failed) with (?:exit )?(?:code|status):? [1-9]"
    r"|\"exit_?(?:code|status)\" ?: ?\"?[1-9]",
    re.MULTILINE | re.IGNORECASE,
)
"""What agents write before, after or beside the output of a command."""
CI_PASSED = re.compile(
    r"^\u2713 [^\n]{1,150} \u00b7 |\tpass\t|\"success\"|All checks were successful", re.MULTILINE
)
