"""Rules for home folders, in the forms that shells, agents, JSON and URLs write them."""

from turnetl.redact.pii.common_accounts import COMMON_ACCOUNTS
from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

_SEPARATOR = r"(?:\\{0,16}/|\\{1,16}|%(?:25)?2[fF]|%(?:25)?5[cC])"
"""Separator of folders: JSON doubles backslashes and may write `\\/`, URLs have `%2F`."""
_ROOT = rf"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=[0-9;]m)|(?<=%3[aA])|(?<=\s-[A-Z])){_SEPARATOR}"
"""The start of a path: not within a word, but possibly after an escaped newline, a colour or a
flag."""
_HOMES = (
    rf"(?:{_ROOT}(?:(?:var|usr|export|nfs|net|mnt|private){_SEPARATOR})?(?:home[0-9]?|Users)"
    rf"|(?:vscode-remote|vscode|cursor|file|sftp|ssh|smb|nfs)://[\w.%@:+-]{{1,80}}/(?:var/)?home"
    rf"|wsl(?:\$|%24|\.localhost){_SEPARATOR}[\w.-]{{1,64}}{_SEPARATOR}home"
    rf"|(?<!\w)[A-Za-z](?::|%3[aA]|\$){_SEPARATOR}"
    rf"(?:(?i:users)|Documents(?:[ ]|%20)and(?:[ ]|%20)Settings)"
    rf"|{_ROOT}(?:(?:mnt|cygdrive|proc{_SEPARATOR}cygdrive){_SEPARATOR})?[a-zA-Z]"
    rf"{_SEPARATOR}(?i:users)"
    rf"|{_ROOT}var{_SEPARATOR}(?:spool{_SEPARATOR}(?:cron{_SEPARATOR}crontabs|mail)|mail)"
    rf"|{_ROOT}run{_SEPARATOR}media){_SEPARATOR}"
)
_NAME = r"[\w\x80-\xff](?:[\w.@+\x80-\xff-]{0,62}[\w\x80-\xff])?"
_NAME_WITH_SPACES = (
    rf"{_NAME}(?:(?:[ ]|%20|\\[ ])[A-Z\x80-\xff][\w.\x80-\xff-]{{0,30}}){{1,3}}(?={_SEPARATOR})"
)
_IN_DASHES = r"([A-Za-z0-9_.]{1,64})"
_NOT_SHARED = COMMON_ACCOUNTS | {"all users", "default user"}
_FLAG_WORDS = frozenset(
    {"dir", "directory", "page", "pages", "folder", "path", "url", "screen", "button", "view"}
    | {
        "guide",
        "guides",
        "manual",
        "table",
        "list",
        "file",
        "api",
        "service",
        "id",
        "ids",
        "assistant",
    }
    | {"office", "automation", "server", "grid", "icon", "controller", "and", "of", "can", "who"}
)
"""Words after `-home-` that are no user."""


def _is_user_name(value: str) -> bool:
    name = value.lower().replace("%20", " ").replace("\\ ", " ")
    return name not in _NOT_SHARED and not name.startswith("redacted")


def _is_user_in_dashes(value: str) -> bool:
    return _is_user_name(value) and value.lower().partition(".")[0] not in _FLAG_WORDS


HOMES = PiiSubject(
    r"(?:home[0-9]?|[uU]sers|USERS|Settings|mail|crontabs|media)(?:[/\\-]|%(?:25)?(?:2[fF]|5[cC]))"
    r"|(?:^|[\s;&|(`\"'=])~[a-z]",
    (
        SecretRule(
            "home",
            rf"{_HOMES}({_NAME_WITH_SPACES}|{_NAME})",
            "Most often a person's name. The folders around it name the project and stay.",
            _is_user_name,
        ),
        SecretRule(
            "home",
            rf"(?<=[\\/])-(?:home|Users)-{_IN_DASHES}",
            "A home folder in the name that Claude Code derives from a project's folder.",
            _is_user_in_dashes,
        ),
        SecretRule(
            "home",
            r"(?<![\w.-])(?:[A-Za-z]-)?-{1,2}(?:(?:var|mnt|[a-z]|wsl|localhost|private|Ubuntu"
            r"|Debian)-"
            rf"{{1,2}}){{0,5}}(?:home|[uU]sers)-{_IN_DASHES}(?=-)",
            "The same without the folder above it; from Windows, `C--Users-kim-shop`.",
            _is_user_in_dashes,
        ),
        SecretRule(
            "home",
            rf"projects{_SEPARATOR}(?:[a-z]-)?(?:home|[uU]sers)-{_IN_DASHES}-",
            "A folder that Cursor derives from a project's folder.",
            _is_user_in_dashes,
        ),
        SecretRule(
            "home",
            r"\b(?:cd|ls|cat|less|vim?|nano|cp|mv|rm|mkdir|tree|du|chown|scp|rsync|find|source"
            r"|open|HOME)"
            r"(?:=|[ ](?:-{1,2}[\w-]{1,20}[ ]){0,3}(?:[\w./~-]{1,80}"
            r"[ ])?)['\"]?~([a-z_][\w.-]{1,31})"
            r"(?![\w.-]|@)",
            "The home folder of a user, as shells abbreviate it.",
            _is_user_name,
        ),
    ),
)
