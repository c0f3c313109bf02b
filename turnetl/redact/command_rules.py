"""Rules for passwords in the options of commands, and in the files that commands read."""

from turnetl.redact import chosen, plausible
from turnetl.redact.announced_rules import IN_QUOTES, PASSWORD
from turnetl.redact.rule import SecretRule

_WORD = r"([^ \t\r\n\"'`\\;<>|&$-][^ \t\r\n\"'`\\;<>|&]{2,127})"
_ARGUMENT = rf"(?:{IN_QUOTES}|{_WORD})"
_OPTIONS = r"[^\r\n|;]{0,200}?[ \t]"
_USER = r"[^ \t\r\n:\"'`\\/$]{1,100}"
_USER_COMMA = r"[^ \t\r\n,\"'`\\/$]{1,60}"
_LINE_START = r"(?:\A|[\r\n]|\\n|[\t→ +-])"


def _rule(pattern: str, description: str, before: str = "") -> SecretRule:
    return SecretRule("flag", pattern, description, chosen.is_chosen_argument, before=before)


COMMAND_RULES = (
    _rule(
        rf"(?:password|passwd|passphrase|storepass|keypass|pass)(?:=|[ \t]{{1,2}}){_ARGUMENT}",
        "A password in a long option.",
        before=r"(?:\A|[\s\"'`=(\[,])--?(?:[a-z]{1,12}-){0,2}",
    ),
    _rule(
        rf"(?:mysql|mariadb)[a-z-]{{0,10}}{_OPTIONS}-p{_ARGUMENT}",
        "Clients of MySQL take it without a space.",
    ),
    _rule(rf"mysqladmin{_OPTIONS}password[ \t]{_ARGUMENT}", "MySQL's administration."),
    _rule(rf"sshpass[ \t]{{1,2}}-p[ \t]?{_ARGUMENT}", "The password of an SSH connection."),
    _rule(
        rf"(?:redis-cli|valkey-cli){_OPTIONS}(?:-a[ \t]?|--pass[ =]){_ARGUMENT}",
        "The client of Redis.",
    ),
    _rule(
        rf"(?:mongo(?:sh|dump|restore|import|export)?|cqlsh|(?:docker|podman|buildah|az|oras|helm"
        rf"|crane|skopeo|oc|registry)[ \t](?:registry[ \t])?login|useradd|usermod){_OPTIONS}-p"
        r"[ \t]?"
        rf"{_ARGUMENT}",
        "Commands with `-p` for the password.",
    ),
    _rule(
        rf"(?:zip|sqlcmd|bcp|osql|isql|ssh-keygen|mosquitto_[ps]ub|ipmitool|snmp[a-z]{{2,10}})"
        rf"{_OPTIONS}-[PN][ \t]?{_ARGUMENT}",
        "Commands with `-P` or `-N` for the password.",
    ),
    _rule(
        rf"(?:7z[ar]?[ \t]|unrar[ \t]|rar[ \t]){_OPTIONS}-p{_ARGUMENT}",
        "Packers take it without a space.",
    ),
    _rule(
        rf"openssl{_OPTIONS}(?:-k[ \t]|-pass(?:in|out)?[ \t]+\\*[\"']?pass:|-k[ \t])"
        r"\\*[\"']?([^ \t\r\n\"'`\\;<>|&$-][^\r\n\"'`\\;<>|&]{2,127}?)(?:\\*[\"']|[ \t\r\n\\]|$)",
        "The pass phrase of a key or of a file.",
    ),
    _rule(
        r"(?:curl|https?|xh|wget|etcdctl|aria2c)[ \t](?:[^\r\n|;]{0,200}?[ \t])?"
        r"(?:-[a-zA-Z]{0,6}[ua]|--user|--auth|--proxy-user)[ =]"
        rf"(?:\\*\"{_USER}:([^\"\\\r\n]{{3,128}})\\*\"|\\*'{_USER}:([^'\\\r\n]{{3,128}})\\*'"
        rf"|{_USER}:{_WORD})",
        "`user:password` of a client of HTTP.",
    ),
    _rule(
        rf"htpasswd[ \t]+-[a-zA-Z0-9]{{0,6}}b[a-zA-Z0-9]{{0,6}}[ \t]+(?:[^ \t\r\n]{{1,100}}"
        rf"[ \t]+)?[^ \t\r\n]{{1,60}}"
        rf"[ \t]+{_ARGUMENT}",
        "A password for a file of users.",
    ),
    _rule(rf"ldap[a-z]{{3,9}}{_OPTIONS}-[wsa][ \t]{_ARGUMENT}", "Clients of LDAP."),
    _rule(
        rf"(?:smbclient|rpcclient|mount\.cifs|net[ \t]){_OPTIONS}-U[ \t]?[^ \t\r\n%]{{1,60}}%"
        rf"{_ARGUMENT}",
        "Samba.",
    ),
    _rule(
        rf"(?:lftp|ncftp|sftp|ftp|curlftpfs){_OPTIONS}-u[ \t]?{_USER_COMMA},{_ARGUMENT}",
        "Clients of FTP.",
    ),
    _rule(
        rf"(?:nmcli|iwctl|wpa_cli|pdftk|qpdf|virsh|virt-install){_OPTIONS}"
        rf"(?:[a-z0-9-]{{1,20}}[._])?(?:password|passwd|psk|(?:input|owner|user)_pw|passphrase)"
        rf"[ \t]{_ARGUMENT}",
        "Commands with words instead of options.",
    ),
    _rule(
        rf"/(?:p|pass|password|pwd):{_ARGUMENT}",
        "An option of Windows.",
        before=r"[ \t]/(?:u|user|username):[^\r\n]{1,80}[ \t]",
    ),
    SecretRule(
        "flag",
        rf"(?i)(?:{PASSWORD}|psk)=(?:{_ARGUMENT})",
        "A setting as the argument of an option.",
        chosen.is_chosen_word,
        before=(
            r"[ \t]--?[a-zA-Z][a-zA-Z-]{0,20}[ =](?:\\*[\"'](?:[^ \t\r\n\"'`();]{1,80}[ \t])?)?"
            r"[^ \t\r\n\"'`();]{0,80}"
        ),
    ),
    _rule(
        rf"(?:net|NET)[ \t](?:use|USE){_OPTIONS}"
        rf"(?:/(?:user|USER):[^ \t\r\n]{{1,60}}[ \t]+{_ARGUMENT}"
        rf"|\\{{2,8}}[^ \t\r\n]{{1,100}}[ \t]+{_ARGUMENT}[ \t]+/(?:user|USER):)",
        "A share of Windows.",
    ),
    SecretRule(
        "flag",
        r"()[ \t](?:~\*|\+@all|&\*|allkeys|allcommands)",
        "A user in the access list of Redis: the rights follow the password.",
        chosen.is_chosen_argument,
        reversed_prefix=rb"[^ \t\r\n\"'`\\<>]{3,128}+(?=>[ \t])",
    ),
    SecretRule(
        "flag",
        r"%s(?:\\+n)?\\*[\"'][ \t]{1,4}\\*[\"']?([^ \t\r\n\"'`\\|$]{4,200})\\*[\"']?[ \t]{0,4}\|"
        r"[ \t]{0,4}[^\r\n|;&]{0,100}?(?:sudo -S|--password-stdin|--with-token)",
        "A password that is printed into a command.",
        plausible.is_password,
        before=r"printf[ \t]{1,4}\\*[\"']",
    ),
    _rule(
        rf"SecureString[^\r\n]{{1,100}}--value[ =]{_ARGUMENT}"
        r"|aws[ \t]configure[ \t]set[ \t](?:[^ \t\r\n]{1,60}\.)?aws_s[a-z_]{5,20}[ \t]+"
        rf"{_ARGUMENT}"
        rf"|gh[ \t]secret[ \t]set[^\r\n]{{1,100}}(?:--body|-b)[ =]{_ARGUMENT}",
        "Commands that store a secret under any name.",
    ),
    _rule(rf"snmp[a-z]{{2,10}}{_OPTIONS}-[AX][ \t]+{_ARGUMENT}", "The pass phrases of SNMP."),
    _rule(
        rf"rabbitmqctl{_OPTIONS}(?:add_user|change_password)[ \t]+[^ \t\r\n]{{1,60}}[ \t]+"
        rf"{_ARGUMENT}",
        "A user of RabbitMQ.",
    ),
    _rule(rf"rclone{_OPTIONS}pass[ =]{_ARGUMENT}", "The password of a remote of rclone."),
    _rule(
        rf"<<<[ \t]*(?:{IN_QUOTES}|([^ \t\r\n\"'`\\$(){{}}]{{3,200}}))",
        "A password on the standard input.",
        before=(
            r"(?:kinit|--password-stdin|--with-token|sudo -S|chpasswd|passwd|read[^\r\n]{0,20}"
            r"(?i:pass|pw|secret|token|key|pat))[^\r\n]{0,60}"
        ),
    ),
    _rule(
        r"--password-command[ =]\\*[\"']?echo[ \t]+([^ \t\r\n\"'`\\$]{3,200})",
        "A command that prints the password.",
    ),
    _rule(
        r"echo[ \t]{1,4}(?:-n[ \t]{1,4})?\\*[\"']?[^ \t\r\n\"'`\\|$:]{1,60}:("
        r"[^\r\n\"'`\\|$]{3,128})\\*[\"']?"
        r"[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]+)?chpasswd",
        "The password of a user of the system.",
    ),
    SecretRule(
        "password",
        rf"(?i){PASSWORD}=([^ \t\r\n\"'`\\;<>|&(){{}}\[\]$,][^ \t\r\n\"'`\\;<>|&(){{}}\[\]]"
        rf"{{2,127}})"
        r"(?:[;&\"'`\\ \t\r\n]|$)",
        "A password in a connection string, in a form, or in a URL.",
        chosen.is_chosen_word,
        before=r"[?&; \t\"'`]|(?:u0026|%26)",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:requirepass|masterauth|rootpw|bind_?pw)[ \t:=]{{1,4}}{_ARGUMENT}",
        "A password in the settings of a server.",
        chosen.is_chosen_word,
        before=_LINE_START,
    ),
    SecretRule(
        "password",
        rf"password[ \t\r\n]{{1,8}}{_ARGUMENT}",
        "A line of netrc.",
        chosen.is_chosen_word,
        before=(
            r"(?:machine[ \t]+[^ \t\r\n]{1,100}|default)[ \t\r\n]{1,12}(?:login|user)[ \t]+"
            r"[^ \t\r\n]{1,100}[ \t\r\n]{1,12}"
        ),
    ),
    SecretRule(
        "password",
        r":_(?:password|authToken|auth)[ \t]*=[ \t]*\\*[\"']?([^ \t\r\n\"'\\$]{4,})",
        "The settings of npm.",
        chosen.is_chosen_word,
    ),
    SecretRule(
        "pgpass",
        r":(?:543[0-9]|6432|\*):[^: \t\r\n\"'/]{1,64}:[^: \t\r\n\"'/]{1,64}:([^ \t\r\n\"'\\]{4,})",
        "A line of the PostgreSQL password file.",
        chosen.is_chosen_word,
    ),
    SecretRule(
        "password",
        r"ansible_(?:become|ssh|sudo|winrm|connection|network)?_?pass(?:word)?\\*[\"']?[ \t]*"
        r"[:=][ \t]*"
        rf"{_ARGUMENT}",
        "A password in an inventory of Ansible.",
        chosen.is_chosen_word,
    ),
    SecretRule(
        "password",
        rf"(?i){PASSWORD}\\*\"[ \t]*\{{[^{{}}]{{0,300}}?default[ \t]*=[ \t]*{IN_QUOTES}",
        "The default of a variable of Terraform.",
        chosen.is_chosen,
    ),
)
