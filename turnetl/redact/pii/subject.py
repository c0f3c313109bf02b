"""A subject of personal data: its rules, and which texts they are tried on; names of nobody.

Names that are revealed elsewhere in the archive are redacted if they are certain: long, and no
ordinary words.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from turnetl.redact.rule import SecretRule
from turnetl.redact.spans import Span


@dataclass(frozen=True)
class PiiSubject:
    """Rules for one kind of personal data. They run on candidates only, and may use look-around.

    The length of a match is bounded: the time for a text is proportional to its length.
    """

    prefilter: str
    """Matches every text in which a rule can match; without look-around."""
    rules: tuple[SecretRule, ...]


WORD_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
"""Precedes a word: nothing of another word, but the letter of an escaped newline, as in JSON."""
NAME_START = r"(?:(?<![\w$.-])|(?<=\\[nrt]))"
"""Precedes the name of a variable."""


_SYSTEM = """
root toor daemon bin sys adm wheel staff operator nobody nogroup everyone system administrators
administrator admin admins superuser su sudo users user group guest public shared default
defaultuser0 defaultaccount wdagutilityaccount games man mail news uucp proxy backup list irc gnats
sshd syslog messagebus systemd-network systemd-resolve systemd-timesync polkitd dbus avahi ntp
chrony rpc tty disk lp floppy audio video cdrom dialout plugdev netdev input kvm render crontab
shadow utmp tape fax voice tcpdump _apt root,root trustedinstaller authenticated
networkservice localservice localsystem serviceaccount none null undefined self other
"""
_SERVICES = """
www www-data http httpd nginx apache apache2 caddy postgres postgresql mysql mariadb mongodb mongo
redis memcached rabbitmq elasticsearch kafka zookeeper cassandra neo4j grafana prometheus influxdb
node nodejs npm python ruby java tomcat jetty php django flask rails app application web webapp
server service worker api backend frontend docker dockerroot containerd podman kube kubernetes
git hg svn gitlab gitea github gitlab-runner jenkins ci cd build builder buildkite circleci travis
runner runneradmin vsts vssadministrator containeradministrator containeruser codespace codespaces
vscode vsonline gitpod coder jovyan sandbox nixbld linuxbrew homebrew brew steam plex
ubuntu debian fedora centos rocky almalinux alpine arch archlinux opensuse suse kali pi raspberrypi
ec2-user azureuser cloud-user core coreos bitnami vagrant ansible terraform packer deploy deployer
deployment test tests tester testuser test-user testing example examples sample demo dummy fake mock
claude codex gemini copilot cursor openai anthropic agent agents assistant bot robot automation
noreply no-reply donotreply do-not-reply postmaster mailer-daemon hostmaster webmaster abuse support
info contact sales hello security help office team
"""
_PLACEHOLDERS = """
you your me my name username user-name user_name userid user_id yourname your-name your_name
yourusername your-username your_username youruser your-user your_user myuser my-user myname someone
somebody anyone foo bar baz qux foobar xxx xxxx abc xyz alice,bob placeholder user1 user2 usr
whoami logname dev developer owner me,you workspace workspaces project projects repo home src tmp
"""
COMMON_ACCOUNTS = frozenset(f"{_SYSTEM} {_SERVICES} {_PLACEHOLDERS}".replace(",", " ").split())
"""Names of accounts in lower case: of systems, services and cloud images, and placeholders."""

_PROGRAMS = """
claude codex gemini copilot cursor github gitlab bitbucket dependabot renovate semantic-release
greenkeeper snyk pre-commit-ci imgbot allcontributors mergify codecov actions-user web-flow
openai anthropic aider devin jules opencode amp author name test tester user example unknown
"""
_PROGRAM_NAMES = frozenset(_PROGRAMS.split())
_MIN_NAME_CHARS = 2


def is_personal_account(value: str) -> bool:
    name = value.lower().strip("'\"")
    is_number = name.isdigit()
    return len(name) >= _MIN_NAME_CHARS and not is_number and name not in COMMON_ACCOUNTS


def is_personal_author(value: str) -> bool:
    """Return whether the author of a commit can be a person: not a program or a placeholder."""
    words = value.lower().replace("[bot]", " bot ").split()
    if not words or "bot" in words or not any(map(str.isalpha, value)):
        return False
    is_program = words[0] in _PROGRAM_NAMES or words[0].removesuffix("[bot]") in _PROGRAM_NAMES
    return (
        not is_program and value.lower() not in COMMON_ACCOUNTS and _PLACEHOLDER_WORD not in words
    )


_PLACEHOLDER_WORD = "your"


NAME_RULES = frozenset({"home", "user", "author"})
"""Rules whose values are names of people and accounts."""
_MIN_ACCOUNT_CHARS = 6
_MIN_WORD_CHARS = 2
_MIN_FULL_NAME_CHARS = 8
_ACCOUNT = re.compile(r"[a-z][a-z0-9._-]*[a-z0-9]", re.IGNORECASE)
_BEFORE = re.compile(rb"(?:\A|[^\\])[A-Za-z0-9\x80-\xff]\Z|\\[A-MO-QSU-Za-mo-qsu-z0-9]\Z")
_AFTER = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_PATH = re.compile(
    rb"(?:[A-Za-z]:)?[\\/](?:\[REDACTED:[a-z-]++:[0-9a-f]++\]"
    rb"|[^\s\[\"'`:;,()<>|]|[ ](?=[^\n]{0,200}[\\/]))*+\Z"
)


def is_certain_name(value: str) -> bool:
    words = value.split()
    if len(words) > 1:
        are_names = all(len(word) >= _MIN_WORD_CHARS and word[0].isupper() for word in words)
        return are_names and value.replace(" ", "").isalpha() and len(value) >= _MIN_FULL_NAME_CHARS
    if len(value) < _MIN_ACCOUNT_CHARS or not _ACCOUNT.fullmatch(value):
        return False
    return value.lower() not in COMMON_ACCOUNTS and not _is_ordinary(value)


def names_alone(data: bytes, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans, of names only those that are no part of a longer word.

    A text that is only a path keeps names: the group may be named after it, also in other archives.
    """
    is_path = _PATH.match(data) is not None
    for span in spans:
        if span.rule not in NAME_RULES or (
            not is_path
            and not (
                _BEFORE.search(data[max(0, span.start - 2) : span.start])
                or _AFTER.match(data, span.end)
            )
        ):
            yield span


def _is_ordinary(word: str) -> bool:
    """Return whether the built-in embedding model has the word as a whole: it is frequent."""
    frequent = _frequent_words()
    return any(form in frequent for form in (word, word.lower(), word.title()))


@cache
def _frequent_words() -> frozenset[str]:
    from tokenizers import Tokenizer  # noqa: PLC0415 - only with a name

    path = files("wordllama") / "tokenizers" / "l2_supercat_tokenizer_config.json"
    vocabulary = Tokenizer.from_str(path.read_text("utf-8")).get_vocab(with_added_tokens=False)
    return frozenset(token.removeprefix("\u2581") for token in vocabulary if token[0] == "\u2581")
