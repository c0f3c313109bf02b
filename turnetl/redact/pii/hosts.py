"""Rules for the names of people's machines, prompts of shells, and home folders."""

from functools import partial

from turnetl.redact.pii.subject import (
    COMMON_ACCOUNTS,
    NAME_START,
    WORD_START,
    PiiSubject,
    is_personal_account,
)
from turnetl.redact.rule import SecretRule
from turnetl.redact.vocabulary import words

_NAMES = """
    localhost localhost.localdomain host hostname docker container ubuntu debian fedora alpine kali
    codespaces sandbox machine server laptop computer desktop test example runner vm cluster svc
    service kubernetes minikube kind github gitlab bitbucket api app web db redis postgres mysql box
    remote target node master worker default your-host myhost my-host yourhost none null name
    macbook macbook-pro macbook-air imac mac-mini archlinux raspberrypi linux macos windows
"""
_SHARED = frozenset(_NAMES.split())
_HEX = frozenset("0123456789abcdef")
_CONTAINER_CHARS = 12
"""Characters of the id of a container, which is the name of its machine."""


def is_personal_host(value: str) -> bool:
    name = value.lower().rstrip(".")
    label = name.partition(".")[0]
    is_container = len(label) >= _CONTAINER_CHARS and _HEX.issuperset(label)
    is_service = name.endswith((".cluster.local", ".svc.local", ".internal"))
    is_number = label.replace("-", "").isdigit()
    return not (is_container or is_service or is_number or {name, label} & _SHARED)


_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,4}}"
_DEVICE = (
    r"(?i:MacBook(?:-(?:Pro|Air))?|iMac(?:-Pro)?|Mac-(?:mini|Studio|Pro)|mbp|mba|iPhone|iPad"
    r"|ThinkPad|XPS|Surface|Laptop|Notebook|Desktop|NUC|Workstation|PC)"
)
_LOCAL = r"(?:local|lan|localdomain|home|fritz\.box|home\.arpa|intranet)"
_END = r"(?![\w-]|\.[A-Za-z0-9_]|\()"
_QUOTE = r"[\"'\\]{0,4}"
_host = partial(SecretRule, "host", plausible=is_personal_host)
_user = partial(SecretRule, "user", plausible=is_personal_account)

HOSTS = PiiSubject(
    r"(?:DESKTOP|LAPTOP|WIN|PC)-[A-Z0-9]|\.(?:local|lan|localdomain|home|fritz\.box|intranet)\b"
    r"|(?i:macbook|imac-|-imac|mac-mini|mac-studio|mac-pro|-mbp|-mba|-thinkpad|-xps|-laptop"
    r"|-notebook)|(?i:-iphone|-ipad|-pc|-desktop|-surface|-nuc|-workstation)\.(?:local|lan|home)"
    r"|COMPUTERNAME|HOST|hostname|Hostname|LogonServer|LOGONSERVER|nodename|ComputerName"
    r"|computer_name"
    r"|(?:Linux|Darwin) [\w.-]+ [0-9]+\.|[0-9]:[0-9]{2} [\w.-]+ [\w./-]+(?:\[[0-9]+\])?: ",
    (
        _host(
            rf"{WORD_START}((?:DESKTOP|LAPTOP)-[A-Z0-9]{{6,9}}|WIN-[A-Z0-9]{{11}})(?![\w-])",
            "The name that Windows gives a machine.",
        ),
        _user(
            r"(?<![\w-])(?:(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,9}|WIN-[A-Z0-9]{11}"
            r"|\[REDACTED:host:[0-9a-f]{4,64}\])\\{1,4}([A-Za-z][\w.-]{1,31})",
            "The user after the name of the machine.",
        ),
        _host(
            rf"(?i)(?<![\w.-])((?:[A-Za-z0-9]{{1,30}}-){{1,3}}(?:MacBook(?:-(?:Pro|Air))?|iMac"
            rf"(?:-Pro)?|Mac-(?:mini|Studio|Pro))(?:-[0-9]{{1,3}})?(?:\.{_LOCAL})?){_END}",
            "The name that macOS gives a machine: `Kims-MacBook-Pro.local`.",
        ),
        _host(
            rf"(?i)(?<![\w.-])((?:[A-Za-z0-9]{{1,30}}-){{1,3}}{_DEVICE}(?:-[0-9]{{1,3}})?\."
            rf"{_LOCAL}){_END}",
            "A device in a local network.",
        ),
        _host(
            rf"(?:(?i:ssh|ping|sftp|mosh|nslookup|dig|traceroute|telnet|nc|curl|wget)[ ]"
            rf"(?:-[\w-]{{1,20}}[ ](?:[0-9]{{1,5}}[ ])?){{0,3}}|@|[a-z]://)(?:[\w.-]{{1,40}}@)?"
            rf"({_LABEL}\.(?:local|lan|localdomain|fritz\.box|home\.arpa|intranet)){_END}",
            "A machine in a local network, where an address is expected.",
        ),
        _host(
            rf"{NAME_START}(?:COMPUTERNAME|HOSTNAME|HOST|LOGONSERVER|LocalHostName|Static hostname)"
            rf"{_QUOTE}[ ]?[:=][ ]?{_QUOTE}({_LABEL}(?:\.{_LOCAL})?)(?![\w.:(/\[-]|{_QUOTE}"
            rf"[ ]?[+)])"
            rf"|{NAME_START}(?:ComputerName|nodename|[hH]ostname){_QUOTE}[ ]?[:=][ ]?{_QUOTE}"
            rf"([A-Za-z0-9]{{1,30}}(?:-[A-Za-z0-9]{{1,30}}){{1,4}}(?:\.{_LOCAL})?)(?![\w.:(/\[-])",
            "The machine in the environment.",
        ),
        _host(
            rf"{NAME_START}(?:\$[ ]|#[ ]|%[ ])hostname(?:[ ]-\w)?\r?(?:\n|\\n)({_HOST})(?=\s|\\|$)",
            "The answer of `hostname`.",
        ),
        _host(
            rf"\b(?:Linux|Darwin|FreeBSD)[ ]({_HOST})[ ][0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]{{1,4}}"
            rf"\S{{0,60}}[ ](?:#|Darwin[ ]Kernel|FreeBSD[ ])",
            "The machine in `uname -a`.",
        ),
        _host(
            rf"\b[A-Z][a-z]{{2}}[ ]{{1,2}}[0-9]{{1,2}}[ ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[ ]"
            rf"({_HOST})[ ]"
            r"[\w./()-]{1,60}(?:\[[0-9]{1,8}\])?:[ ]",
            "The machine in a system's log.",
        ),
    ),
)


_USER = r"[A-Za-z_][\w.-]{0,31}"
_PROMPT_HOST = r"[A-Za-z0-9][\w.-]{0,62}"
_START = r"(?:(?<![\w.@/:+\\-])|(?<=[0-9;]m)|(?<=\\n)|(?<=\]0;)|(?<=\]2;))"
_FOLDER = r"(?:~|/)[^\r\n$#%>\x07]{0,120}"
_PROMPT_END = r"(?:[$#%>\xe2](?:[ ]|$|\\n|\r|\n|\xaf)|\x07|\\u0007|\\a)"
_AFTER = (
    rf"(?::[ ]?{_FOLDER}{_PROMPT_END}|\][$#%]"
    r"|[ ](?:~|[\w./~-]{1,80})[ ]?(?:\([^)\r\n]{1,40}\)[ ]?)?"
    r"(?:[$%#>][ ]|[$%#>]$|\][$#%])|[ ](?:MINGW|MSYS|UCRT|CLANG)[0-9]{0,2}[ ][~/])"
)

PROMPTS = PiiSubject(
    r"[\w-]@[\w.-]+(?::|\]| [~\w./])|\x{327f}|:[^ ]* [\w.-]+\$ |(?:^|\n"
    r"|\\n)[\w.-]+:[^\n]{1,80} [\w.-]+\$ ",
    (
        _user(
            rf"{_START}({_USER})@(?:{_PROMPT_HOST}|\[REDACTED:host:[0-9a-f]{{4,64}}\]){_AFTER}",
            "The user in the prompt of a shell.",
        ),
        _host(
            rf"{_START}(?:{_USER}|\[REDACTED:user:[0-9a-f]{{4,64}}\])@({_PROMPT_HOST}){_AFTER}",
            "The machine in the prompt of a shell.",
        ),
        _user(rf"\(({_USER})\xe3\x89\xbf{_PROMPT_HOST}\)-\[", "The user in Kali's prompt."),
        _host(
            rf"\((?:{_USER}|\[REDACTED:user:[0-9a-f]{{4,64}}\])\xe3\x89\xbf({_PROMPT_HOST})\)-\[",
            "The machine in Kali's prompt.",
        ),
        _user(
            rf"(?:(?m:^)|(?<=\\n)){_PROMPT_HOST}:[^\r\n:$]{{1,80}}[ ]({_USER})\$[ ]",
            "The user in the prompt of Bash on macOS: `host:folder kim$`.",
        ),
        _host(
            rf"(?:(?m:^)|(?<=\\n))({_PROMPT_HOST}):[^\r\n:$]{{1,80}}[ ](?:{_USER}"
            rf"|\[REDACTED:user:[0-9a-f]{{4,64}}\])\$[ ]",
            "The machine in the prompt of Bash on macOS.",
        ),
    ),
)


_SEPARATOR = r"(?:\\{0,16}/|\\{1,16}|%(?:25)?2[fF]|%(?:25)?5[cC])"
"""Separator of folders: JSON doubles backslashes and may write `\\/`, URLs have `%2F`."""
_ROOT = rf"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=[0-9;]m)|(?<=%3[aA])|(?<=\s-[A-Z])){_SEPARATOR}"
"""The start of a path: not within a word, but after an escaped newline, a colour or a flag."""
_HOMES = (
    rf"(?:{_ROOT}(?:(?:var|usr|export|nfs|net|mnt|private){_SEPARATOR})?(?:home[0-9]?|Users)"
    rf"|(?:vscode-remote|vscode|cursor|file|sftp|ssh|smb|nfs)://[\w.%@:+-]{{1,80}}/(?:var/)?home"
    rf"|wsl(?:\$|%24|\.localhost){_SEPARATOR}[\w.-]{{1,64}}{_SEPARATOR}home"
    rf"|(?<!\w)[A-Za-z](?::|%3[aA]|\$){_SEPARATOR}"
    rf"(?:(?i:users)|Documents(?:[ ]|%20)and(?:[ ]|%20)Settings)"
    rf"|{_ROOT}(?:(?:mnt|cygdrive|proc{_SEPARATOR}cygdrive){_SEPARATOR})?[a-zA-Z]{_SEPARATOR}"
    rf"(?i:users)|{_ROOT}var{_SEPARATOR}(?:spool{_SEPARATOR}(?:cron{_SEPARATOR}crontabs|mail)|mail)"
    rf"|{_ROOT}run{_SEPARATOR}media){_SEPARATOR}"
)
_NAME = r"[\w\x80-\xff](?:[\w.@+\x80-\xff-]{0,62}[\w\x80-\xff])?"
_NAME_WITH_SPACES = (
    rf"{_NAME}(?:(?:[ ]|%20|\\[ ])[A-Z\x80-\xff][\w.\x80-\xff-]{{0,30}}){{1,3}}(?={_SEPARATOR})"
)
_IN_DASHES = r"([A-Za-z0-9_.]{1,64})"
_NOT_SHARED = COMMON_ACCOUNTS | {"all users", "default user"}
_FLAG_WORDS = words(
    "dir directory page pages folder path url screen button view guide guides manual table list "
    "file api service id ids assistant office automation server grid icon controller and of can "
    "who"
)
"""Words after `-home-` that are no user."""


def _is_user_name(value: str) -> bool:
    name = value.lower().replace("%20", " ").replace("\\ ", " ")
    return name not in _NOT_SHARED and not name.startswith("redacted")


def _is_user_in_dashes(value: str) -> bool:
    return _is_user_name(value) and value.lower().partition(".")[0] not in _FLAG_WORDS


_home = partial(SecretRule, "home")


HOMES = PiiSubject(
    r"(?:home[0-9]?|[uU]sers|USERS|Settings|mail|crontabs|media)(?:[/\\-]|%(?:25)?(?:2[fF]|5[cC]))"
    r"|(?:^|[\s;&|(`\"'=])~[a-z]",
    (
        _home(
            rf"{_HOMES}({_NAME_WITH_SPACES}|{_NAME})",
            "Most often a person's name. The folders around it name the project and stay.",
            _is_user_name,
        ),
        _home(
            rf"(?<=[\\/])-(?:home|Users)-{_IN_DASHES}",
            "A home folder in the name that Claude Code derives from a project's folder.",
            _is_user_in_dashes,
        ),
        _home(
            r"(?<![\w.-])(?:[A-Za-z]-)?-{1,2}(?:(?:var|mnt|[a-z]|wsl|localhost|private|Ubuntu"
            rf"|Debian)-{{1,2}}){{0,5}}(?:home|[uU]sers)-{_IN_DASHES}(?=-)",
            "The same without the folder above it; from Windows, `C--Users-kim-shop`.",
            _is_user_in_dashes,
        ),
        _home(
            rf"projects{_SEPARATOR}(?:[a-z]-)?(?:home|[uU]sers)-{_IN_DASHES}-",
            "A folder that Cursor derives from a project's folder.",
            _is_user_in_dashes,
        ),
        _home(
            r"\b(?:cd|ls|cat|less|vim?|nano|cp|mv|rm|mkdir|tree|du|chown|scp|rsync|find|source"
            r"|open|HOME)(?:=|[ ](?:-{1,2}[\w-]{1,20}[ ]){0,3}(?:[\w./~-]{1,80}"
            r"[ ])?)['\"]?~([a-z_][\w.-]{1,31})(?![\w.-]|@)",
            "The home folder of a user, as shells abbreviate it.",
            _is_user_name,
        ),
    ),
)
