"""Rules for user and host in the prompt of a shell."""

from turnetl.redact.pii.common_accounts import is_personal_account
from turnetl.redact.pii.hosts import is_personal_host
from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

_USER = r"[A-Za-z_][\w.-]{0,31}"
_HOST = r"[A-Za-z0-9][\w.-]{0,62}"
_START = r"(?:(?<![\w.@/:+\\-])|(?<=[0-9;]m)|(?<=\\n)|(?<=\]0;)|(?<=\]2;))"
_FOLDER = r"(?:~|/)[^\r\n$#%>\x07]{0,120}"
_END = r"(?:[$#%>\xe2](?:[ ]|$|\\n|\r|\n|\xaf)|\x07|\\u0007|\\a)"
_AFTER = (
    rf"(?::[ ]?{_FOLDER}{_END}|\][$#%]|[ ](?:~|[\w./~-]{{1,80}})[ ]?(?:\([^)\r\n]{{1,40}}\)[ ]?)?"
    r"(?:[$%#>][ ]|[$%#>]$|\][$#%])|[ ](?:MINGW|MSYS|UCRT|CLANG)[0-9]{0,2}[ ][~/])"
)

PROMPTS = PiiSubject(
    r"[\w-]@[\w.-]+(?::|\]| [~\w./])|\x{327f}|:[^ ]* [\w.-]+\$ |(?:^|\n"
    r"|\\n)[\w.-]+:[^\n]{1,80} [\w.-]+\$ ",
    (
        SecretRule(
            "user",
            rf"{_START}({_USER})@(?:{_HOST}|\[REDACTED:host:[0-9a-f]{{4,64}}\]){_AFTER}",
            "The user in the prompt of a shell.",
            is_personal_account,
        ),
        SecretRule(
            "host",
            rf"{_START}(?:{_USER}|\[REDACTED:user:[0-9a-f]{{4,64}}\])@({_HOST}){_AFTER}",
            "The machine in the prompt of a shell.",
            is_personal_host,
        ),
        SecretRule(
            "user",
            rf"\(({_USER})\xe3\x89\xbf{_HOST}\)-\[",
            "The user in Kali's prompt.",
            is_personal_account,
        ),
        SecretRule(
            "host",
            rf"\((?:{_USER}|\[REDACTED:user:[0-9a-f]{{4,64}}\])\xe3\x89\xbf({_HOST})\)-\[",
            "The machine in Kali's prompt.",
            is_personal_host,
        ),
        SecretRule(
            "user",
            rf"(?:(?m:^)|(?<=\\n)){_HOST}:[^\r\n:$]{{1,80}}[ ]({_USER})\$[ ]",
            "The user in the prompt of Bash on macOS: `host:folder kim$`.",
            is_personal_account,
        ),
        SecretRule(
            "host",
            rf"(?:(?m:^)|(?<=\\n))({_HOST}):[^\r\n:$]{{1,80}}[ ](?:{_USER}"
            rf"|\[REDACTED:user:[0-9a-f]{{4,64}}\])\$[ ]",
            "The machine in the prompt of Bash on macOS.",
            is_personal_host,
        ),
    ),
)
