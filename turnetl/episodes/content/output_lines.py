"""Patterns for the lines that matter in the output of any program.

Character classes and word boundaries are ASCII: with Unicode boundaries a pattern is thirty times
slower on texts that contain other characters.
"""

_B = r"(?-u:\b)"
"""A word boundary."""
_S = r"[^ \t\n]"
"""A visible character."""

FAILURE = "|".join(
    (
        rf"{_B}FAIL(?:ED|URES?|S)?{_B}|[a-z](?:Error|Exception){_B}|{_B}ERROR{_B}|^[Ee]rror{_B}",
        r"(?:[Ee]rror|ERR!)(?:\[[A-Za-z0-9_]+\]| [A-Z]+[0-9]+)?:|panic:|panicked|fatal:|refused",
        rf"{_B}denied{_B}|{_B}fails?{_B}|^[ \t]*Failed ",
        r"[Ff]ailed(?::| to | with | for |!| asserting)",
        r"^[ \t]*(?:●|[0-9]+\)|Expected|Received|expected|Actual|got)(?::| [^ ])|Failure/Error",
        r"^[ \t]+[0-9]+:[0-9]+ +(?:error|warning)",
        r"[Nn]ot found|No such|[Cc]annot |[Cc]ould not|[Uu]nable to|undefined:|[Tt]imed out",
        rf"Traceback|CONFLICT|##\[error\]|^E  +{_S}|^not ok |✗|✖|✘|❌",
        rf"{_B}[1-9][0-9]* (?:failed|failures?|errors?){_B}",
        r"[Ee]xit(?:ed with)?(?: status| [Cc]ode):? [1-9]|[a-z_]\.[a-z]+:[0-9]+[: ]",
        r" \([a-z]{4,}\)$",
    )
)
"""Part of a line that reports a failure."""

_COUNTED = (
    "pass(?:ed|ing)|fail(?:ed|ing)|skipped|tests?|examples?|assertions?|issues?|insertions?"
    "|files? (?:changed|left|would|reformatted)|deletions?|commits?|warnings?|problems?|packages?"
    "|vulnerabilities"
)
TOTAL = "|".join(
    (
        rf"{_B}[0-9]+ (?:{_COUNTED}){_B}|^(?:ok|OK|PASS|Ran|BUILD|TOTAL){_B}|^test result",
        r"^Tests?:|^Plan: |(?:[Ff]ailed|[Pp]assed): +[0-9]|will be (?:created|destroyed|updated)",
        r"^\[[^\]\n]+ [0-9a-f]{7,}\]|^ +[0-9a-f]{7,}\.\.|^ [*+!-] \[[^\]\n]+\]|HEAD is now",
        r"[Ss]witched to |^On branch |^Your branch is (?:ahead|behind)|[Uu]p[- ]to[- ]date",
        r"^[ \t]+(?:modified|new file|deleted|renamed): |^Merge |^Fast-forward|[Ss]uccess(?:ful)",
        r"^(?:Installed|[Aa]dded|[Rr]emoved|Updated|[Cc]reated|Deleted|Wrote|Built) |^\+ [^ \t\n]",
        rf"^go: (?:added|upgraded)|^[Vv]ersion|==[0-9]+\.[0-9]|^{_S}+[ @]v?[0-9]+\.[0-9.]+{_S}*$",
        r"^(?:remote: +)?https?://|/(?:pull|issues|merge_requests|releases|runs|commit)/[0-9a-f]",
        r"[Cc]overage|[Ll]istening on|localhost:[0-9]",
    )
)
"""Part of a line that reports an outcome: totals, commits, versions, addresses."""

ERROR_CAUSE = (
    r"(?i-u:error|exception|fail(?:ed|ure|s|:)|fatal|panic|denied|refused|not found|no such"
    r"|undefined|cannot|can't|unable|traceback|timed? ?out|conflict|invalid|missing"
    r"|exit(?:ed with)? code:? [1-9])"
)
"""Part of a line that may say why a call failed; broader than `FAILURE`."""


def whole_line(part: str) -> str:
    """Return a pattern that matches the lines that contain `part`."""
    return rf"(?m)^[^\n]*(?:{part})[^\n]*$"
