"""Rules for the names of people's machines."""

from turnetl.redact.pii.common_accounts import is_personal_account
from turnetl.redact.pii.subject import NAME_START, WORD_START, PiiSubject
from turnetl.redact.rule import SecretRule

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
    """Return whether the name can be that of a person's machine."""
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
    r"|ThinkPad"
    r"|XPS|Surface|Laptop|Notebook|Desktop|NUC|Workstation|PC)"
)
_LOCAL = r"(?:local|lan|localdomain|home|fritz\.box|home\.arpa|intranet)"
_END = r"(?![\w-]|\.[A-Za-z0-9_]|\()"
_QUOTE = r"[\"'\\]{0,4}"

HOSTS = PiiSubject(
    r"(?:DESKTOP|LAPTOP|WIN|PC)-[A-Z0-9]|\.(?:local|lan|localdomain|home|fritz\.box|intranet)\b"
    r"|(?i:macbook|imac-|-imac|mac-mini|mac-studio|mac-pro|-mbp|-mba|-thinkpad|-xps|-laptop"
    r"|-notebook)"
    r"|(?i:-iphone|-ipad|-pc|-desktop|-surface|-nuc|-workstation)\.(?:local|lan|home)"
    r"|COMPUTERNAME|HOST|hostname|Hostname|LogonServer|LOGONSERVER|nodename|ComputerName"
    r"|computer_name"
    r"|(?:Linux|Darwin) [\w.-]+ [0-9]+\.|[0-9]:[0-9]{2} [\w.-]+ [\w./-]+(?:\[[0-9]+\])?: ",
    (
        SecretRule(
            "host",
            rf"{WORD_START}((?:DESKTOP|LAPTOP)-[A-Z0-9]{{6,9}}|WIN-[A-Z0-9]{{11}})(?![\w-])",
            "The name that Windows gives a machine.",
            is_personal_host,
        ),
        SecretRule(
            "user",
            r"(?<![\w-])(?:(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,9}|WIN-[A-Z0-9]{11}"
            r"|\[REDACTED:host:[0-9a-f]{4,64}\])\\{1,4}([A-Za-z][\w.-]{1,31})",
            "The user after the name of the machine.",
            is_personal_account,
        ),
        SecretRule(
            "host",
            rf"(?i)(?<![\w.-])((?:[A-Za-z0-9]{{1,30}}-){{1,3}}(?:MacBook(?:-(?:Pro|Air))?|iMac"
            rf"(?:-Pro)?"
            rf"|Mac-(?:mini|Studio|Pro))(?:-[0-9]{{1,3}})?(?:\.{_LOCAL})?){_END}",
            "The name that macOS gives a machine: `Kims-MacBook-Pro.local`.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"(?i)(?<![\w.-])((?:[A-Za-z0-9]{{1,30}}-){{1,3}}{_DEVICE}(?:-[0-9]{{1,3}})?\."
            rf"{_LOCAL}){_END}",
            "A device in a local network.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"(?:(?i:ssh|ping|sftp|mosh|nslookup|dig|traceroute|telnet|nc|curl|wget)[ ]"
            rf"(?:-[\w-]{{1,20}}[ ](?:[0-9]{{1,5}}[ ])?){{0,3}}"
            rf"|@|[a-z]://)(?:[\w.-]{{1,40}}@)?({_LABEL}\.(?:local|lan|localdomain|fritz\.box"
            rf"|home\.arpa"
            rf"|intranet)){_END}",
            "A machine in a local network, where an address is expected.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"{NAME_START}(?:COMPUTERNAME|HOSTNAME|HOST|LOGONSERVER|LocalHostName|Static hostname)"
            rf"{_QUOTE}[ ]?[:=][ ]?{_QUOTE}({_LABEL}(?:\.{_LOCAL})?)(?![\w.:(/\[-]|{_QUOTE}"
            rf"[ ]?[+)])"
            rf"|{NAME_START}(?:ComputerName|nodename|[hH]ostname){_QUOTE}[ ]?[:=][ ]?{_QUOTE}"
            rf"([A-Za-z0-9]{{1,30}}(?:-[A-Za-z0-9]{{1,30}}){{1,4}}(?:\.{_LOCAL})?)(?![\w.:(/\[-])",
            "The machine in the environment.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"{NAME_START}(?:\$[ ]|#[ ]|%[ ])hostname(?:[ ]-\w)?\r?(?:\n|\\n)({_HOST})(?=\s|\\|$)",
            "The answer of `hostname`.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"\b(?:Linux|Darwin|FreeBSD)[ ]({_HOST})"
            rf"[ ][0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]{{1,4}}\S{{0,60}}[ ]"
            r"(?:#|Darwin[ ]Kernel|FreeBSD[ ])",
            "The machine in `uname -a`.",
            is_personal_host,
        ),
        SecretRule(
            "host",
            rf"\b[A-Z][a-z]{{2}}[ ]{{1,2}}[0-9]{{1,2}}[ ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[ ]"
            rf"({_HOST})[ ]"
            r"[\w./()-]{1,60}(?:\[[0-9]{1,8}\])?:[ ]",
            "The machine in a system's log.",
            is_personal_host,
        ),
    ),
)
