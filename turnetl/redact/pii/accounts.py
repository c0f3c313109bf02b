"""Rules for the names of accounts: in listings, environments, and options of commands."""

from functools import partial

from turnetl.redact.pii.subject import NAME_START, WORD_START, PiiSubject, is_personal_account
from turnetl.redact.rule import SecretRule

_NAME = r"[A-Za-z_][\w.-]{0,31}"
_LINE = r"(?:(?m:^)|(?<=\\n)|(?<=[0-9;]m))"
"""The start of a line, also in JSON and after a colour."""
_QUOTE = r"[\"'\\]{0,4}"
_MODE = r"[dlbcpsDC-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][@+.]?"
_TIMES = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_user = partial(SecretRule, "user", plausible=is_personal_account)

ACCOUNTS = PiiSubject(
    r"[dlbcpsDC-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-]|uid=[0-9]|: \([ 0-9]+/"
    r"|(?:USER|USERNAME|LOGNAME|user|username|USER_NAME|CHANGED_BY)['\"\\]{0,4}[:=]"
    r"|\d+\.\d +\d+\.\d +\d+ +\d+|(?:pts/|tty|console)|:\d\d +\?|whoami|PS [A-Z]:\\|for user "
    r"|[a-z]:x?:\d+:\d+:|(?:sudo|su|ssh|sftp|scp|rsync|mosh|chown|runas|usermod|useradd|adduser"
    r"|passwd|id|groups|finger"
    r"|pkill|crontab|login|launchctl|dscl)\b.{0,40} |password for |Logged in to |sshd",
    (
        _user(
            rf"{_MODE}[ \t]{{1,8}}[0-9]{{1,6}}[ \t]{{1,8}}({_NAME})[ \t]{{1,24}}\S{{1,40}}"
            rf"[ \t]{{1,24}}[0-9]",
            "The owner in `ls -l`.",
        ),
        _user(
            rf"{_MODE}[ \t]{{1,8}}[0-9]{{1,6}}[ \t]{{1,8}}\S{{1,60}}[ \t]{{1,24}}({_NAME})"
            rf"[ \t]{{1,24}}[0-9]",
            "The group in `ls -l`: each user has one.",
        ),
        _user(
            rf"{_MODE}[ \t]{{1,8}}({_NAME})(?:[/ \t]|[ \t]\S{{1,60}})[ \t]{{0,24}}\S{{1,60}}"
            rf"[ \t]{{1,24}}[0-9]",
            "The owner in `tar -tv`, and in listings without the number of links.",
        ),
        _user(
            rf"{_MODE}[ \t]{{1,8}}\S{{1,60}}/({_NAME})[ \t]{{1,24}}[0-9]", "The group in `tar -tv`."
        ),
        _user(rf"(?:Uid|Gid):[ ]\([ 0-9]{{1,12}}/[ ]{{0,12}}({_NAME})\)", "The owner in `stat`."),
        _user(rf"(?:uid|gid|groups|euid|egid)=[0-9]{{1,9}}\(({_NAME})\)", "The user in `id`."),
        _user(
            rf"{NAME_START}(?:USER|USERNAME|LOGNAME|SUDO_USER|USER_NAME){_QUOTE}[ ]?[:=][ ]?"
            rf"{_QUOTE}({_NAME})(?![\w.(@/:\[{{-])",
            "The user in the environment.",
        ),
        _user(
            rf"{_LINE}({_NAME})\+?[ ]{{1,20}}[0-9]{{1,8}}[ ]{{1,8}}[0-9]{{1,3}}\.[0-9]"
            rf"[ ]{{1,8}}[0-9]{{1,3}}\.[0-9]"
            r"[ ]{1,8}[0-9]{1,12}[ ]{1,8}[0-9]{1,12}[ ]",
            "The user in `ps aux`.",
        ),
        _user(
            rf"{_LINE}[ ]{{0,6}}({_NAME})\+?[ ]{{1,20}}[0-9]{{1,8}}[ ]{{1,8}}[0-9]{{1,8}}"
            rf"[ ]{{1,8}}[0-9]{{1,3}}[ ]{{1,4}}(?:{_TIMES}(?:AM|PM)?|[A-Z][a-z]{{2}}[0-9]{{2}})"
            rf"[ ]{{1,4}}(?:\?|pts/|tty|\?\?)",
            "The user in `ps -ef`.",
        ),
        _user(
            rf"{_LINE}({_NAME})[ ]{{1,20}}(?:pts/[0-9]{{1,4}}|tty[\w]{{1,6}}|console|:[0-9])"
            rf"[ ]{{1,20}}\S",
            "The user in `who`, `w` and `last`.",
        ),
        _user(
            rf"\bwhoami(?:[ ]{{0,4}}(?:\r?\n|\\n))(?:\w{{1,20}}\\)?({_NAME})(?=\s|\\|$)",
            "The answer of `whoami`.",
        ),
        _user(
            rf"{WORD_START}(?:ssh|sftp|scp|mosh|rsync|ssh-copy-id|sshfs)[ ]"
            rf"(?:[^\r\n|;&\"']{{0,100}}?[ ])?({_NAME})@",
            "The user on another machine.",
        ),
        _user(
            rf"{WORD_START}(?:sudo[ ](?:-\w[ ]){{0,2}}-u|su[ ]-(?:[ ]|l[ ])|ssh[ ]"
            rf"(?:[^\r\n|;&\"']{{0,60}}[ ])?-l|runas[ ]/user:|crontab[ ]-u|pkill[ ]-u"
            rf"|loginctl[ ]enable-linger|usermod[ ]-aG[ ][\w,]{{1,40}}"
            rf"|userdel|useradd[ ]-m|adduser)[ ]?({_NAME})(?=\s|$|['\"])",
            "The user of a command.",
        ),
        _user(
            rf"{WORD_START}chown[ ](?:-{{1,2}}[\w-]{{1,20}}[ ]){{0,3}}['\"]?({_NAME})(?=[:. ]\S)",
            "The new owner of files.",
        ),
        _user(
            rf"{WORD_START}chown[ ](?:-{{1,2}}[\w-]{{1,20}}[ ]){{0,3}}\S{{1,60}}?:({_NAME})(?=[ ])",
            "The new group of files.",
        ),
        _user(
            rf"(?:\[sudo\][ ]password[ ]for|[Ss]ession[ ](?:opened|closed)[ ]for[ ]user"
            rf"|(?:Accepted|Failed)[ ]\w{{1,20}}[ ]for(?:[ ]invalid[ ]user)?)[ ]({_NAME})",
            "The user in the messages of `sudo` and `sshd`.",
        ),
        _user(
            r"Logged in to [\w.-]{1,60} (?:account|as) ([\w.-]{1,40})",
            "The account in `gh auth status`.",
        ),
        _user(
            rf"{_LINE}({_NAME}):[x*!]?:(?:[1-9][0-9]{{3,8}}|50[0-9]):[0-9]{{1,9}}:",
            "The user in `/etc/passwd`.",
        ),
        _user(
            rf"{_LINE}{_NAME}:[x*!]?:(?:[1-9][0-9]{{3,8}}"
            rf"|50[0-9]):[0-9]{{1,9}}:([^:,\r\n]{{2,80}})[,:]",
            "The person's name in `/etc/passwd`.",
        ),
    ),
)
