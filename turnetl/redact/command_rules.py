"""Rules for passwords in the options of commands, and in the files that commands read."""

from functools import partial

from turnetl.redact import chosen, plausible
from turnetl.redact.announced_rules import IN_QUOTES
from turnetl.redact.chosen import quoted_rule, told_at_end_rule, told_rule, word_rule
from turnetl.redact.rule import SecretRule, password_rule, value_rule
from turnetl.redact.vocabulary import PASSWORD

_WORD = r"([^ \t\r\n\"'`\\;<>|&-][^ \t\r\n\"'`\\;<>|&]{2,127})"
_ARGUMENT = rf"(?:{IN_QUOTES}|{_WORD})"
_OPTIONS = r"[^\r\n|;]{0,200}?[ \t]\\*[\"']?"
_USER = r"[^ \t\r\n:\"'`\\/$]{1,100}"
_USER_COMMA = r"[^ \t\r\n,\"'`\\/$]{1,60}"
_LINE_START = r"(?:\A|[\r\n]|\\n|[\t→ +-])"


_NAME_OF_USER = r"[A-Za-z0-9_@\\-][^ \t\r\n\"'`|;&$]{0,60}"
_QUOTED_NAME = r"\\*[\"'][^\"'\\\r\n]{1,32}\\*[\"']"
_ORACLE = (
    r"[A-Za-z0-9_$#]{1,30}/(?:\\*\"([^\"\\\r\n]{3,128})\\*\"|([^ \t\r\n@\"'`\\;|]{3,128})(?=@)"
    r"|([A-Za-z0-9+/]{20,128}={0,2}|(?![^ \t\r\n]{1,100}\.[A-Za-z]{1,4}(?:[ \t\r\n\"'\\;]|$))"
    r"[^ \t\r\n@\"'`\\;/|]{3,128}))(?:@|[ \t\r\n\"'\\;]|$)"
)


_rule = partial(SecretRule, "flag", plausible=chosen.is_chosen_argument)
COMMAND_RULES = (
    _rule(
        rf"(?i)(?:(?:password|passwd|passphrase|storepass|keypass|pass|secret-string)[0-9]?|pw)"
        rf"(?:(?:=|[ \t]{{1,2}}){_ARGUMENT}|\\*[\"'],[ \t]*{IN_QUOTES})",
        "A password in a long option.",
        before=r"(?:\A|[\s\"'`=(\[,])--?(?:[a-zA-Z]{1,20}[._-]?){0,5}",
    ),
    _rule(
        rf"[ \t](?:-[uUlDx]|--user(?:name)?|--login)[ =](?:{_NAME_OF_USER}"
        rf"|\\*[\"'][^\"'\r\n]{{1,60}}\\*[\"'])"
        rf"[ \t](?:{_OPTIONS})?(?:-[pPw]|--pw|/p)[ \t]?{_ARGUMENT}",
        "The password after the user, in the options of any command.",
        plausible=chosen.is_password_option,
        before=r"\A(?![^\x00]*(?:mysql|mariadb|docker run|ssh |git ))[^\x00]*",
    ),
    _rule(
        rf"(?:sqlplus|sqlldr|impdp|expdp|rman[ \t]target)[ \t]+(?:-[a-zA-Z]{{1,2}}[ \t]+){{0,2}}"
        rf"{_ORACLE}",
        "A user and a password of Oracle.",
    ),
    _rule(
        rf"(?i)conn(?:ect)?[ \t]+{_ORACLE}",
        "A user and a password of Oracle, in its shell.",
        before=r"(?:\A|[\r\n]|SQL>)[ \t]*",
    ),
    _rule(
        r"(?i)identified[ \t\r\n]+(?:with[ \t]+[a-z0-9_]{1,40}[ \t]+)?by[ \t]+(?!values\b"
        r"|password\b)([^ \t\r\n\"'`\\;<>|&(){}\[\]$:?%*,][^ \t\r\n\"'`\\;<>|,)]{2,127})",
        "A password without quotes in SQL.",
        before=r"(?i:\b(?:create|alter)[ \t\r\n]+(?:user|role)|\bgrant)[ \t\r\n]+[^;]{1,110}",
    ),
    _rule(
        rf"(?i)net[ \t]+user[ \t]+[^ \t\r\n/]{{1,40}}[ \t]+(?!/){_ARGUMENT}(?:[ \t]+/"
        rf"|[ \t]*[\r\n]|$)",
        "A user of Windows.",
    ),
    _rule(
        rf"(?:security[ \t]+[a-z-]{{4,30}}|hdbsql|tsql|beeline|twine|nxc|crackmapexec|hydra"
        rf"|evil-winrm|rdesktop|psexec){_OPTIONS}-[pPw][ \t]+{_ARGUMENT}",
        "More commands with one letter for the password.",
    ),
    _rule(
        rf"(?i)[ \t]/(?:rp|p|pass|password|pwd)[ :]{_ARGUMENT}",
        "An option of a command of Windows.",
        before=r"(?i:signtool|schtasks|cmdkey|runas|wmic|xfreerdp|/r?u(?:ser)?)[^\r\n]{1,110}",
    ),
    _rule(
        rf"(?:wpa_passphrase|-setairportnetwork[ \t]+[a-z0-9]{{2,6}})[ \t]+(?:{_QUOTED_NAME}"
        rf"|[^ \t\r\n]{{1,32}})[ \t]+{_ARGUMENT}",
        "The password of a network.",
    ),
    _rule(
        rf"(?:mc[ \t]alias[ \t]set[ \t][^ \t\r\n]{{1,40}}[ \t]+https?://[^ \t\r\n]{{1,80}}[ \t]"
        rf"[^ \t\r\n]{{1,40}}"
        rf"|rclone[ \t]obscure|mvn[ \t]--encrypt-(?:master-)?password|vault[ \t](?:unseal|login)"
        rf"|cargo[ \t]login|openssl[ \t]passwd(?:[ \t]-[a-z0-9]{{1,6}})?|setapikey|encrypt_string"
        rf"|config[ \t]set[ \t](?:--[a-z]{{4,12}}[ \t])?[A-Za-z0-9:._-]{{0,40}}"
        rf"(?i:pass(?:word)?|token|secret|key)|consul[ \t]kv[ \t]put[ \t][^ \t\r\n]{{0,60}}pass"
        rf"(?:word)?|bteq[ \t]\.logon[ \t][^ \t\r\n,]{{1,40}},|ftp>[ \t]user[ \t][^ \t\r\n]{{1,40}}"
        rf")[ \t]+{_ARGUMENT}",
        "The last argument of a command.",
    ),
    _rule(
        r"\bsend(?:_?line|Line)?(?:\([ \t]*b?|[ \t]+(?:--[ \t]+)?)\\*[\"']([^\"'\\\r\n]{3,128})"
        r"(?:\\+[rn]){0,2}\\*[\"']",
        "What a script types after the prompt for a password.",
        before=r"(?i:assword|passphrase|spawn[ \t])[^\x00]{0,80}",
    ),
    _rule(
        rf"AUTH[ \t]+(?:[a-z]{{1,20}}[ \t]+)?{_ARGUMENT}[ \t]*(?:[\r\n]|\\+n|$)",
        "A login to Redis.",
        before=r"(?:\A|[\r\n]|>)[ \t]*",
    ),
    _rule(
        rf"(?:enable[ \t](?:secret|password)|(?:privilege[ \t][0-9]{{1,2}}"
        rf"|username[ \t][^ \t\r\n]{{1,40}})[ \t]"
        rf"(?:secret|password)|(?:tacacs|radius)-server[ \t][^\r\n]{{0,80}}?\bkey"
        rf"|neighbor[ \t][^ \t\r\n]{{1,40}}[ \t]password|snmp-server[ \t]community|isakmp[ \t]key"
        rf"|pre-shared-(?:key|secret)|authentication-key"
        rf"|wpa-psk|key-string|set-key[ \t]ascii|psksecret|(?:chap|pap|ftp)[ \t]password"
        rf"|plain-text-password(?:-value)?|root-password[ \t]password|auth_pass"
        rf"|option[ \t]key)[ \t=]+(?:(?:[0-9]|ascii-text)[ \t]+)?{_ARGUMENT}",
        "The settings of routers and of other devices.",
    ),
    _rule(
        r"(?:Key[ \t]Content[ \t]*:[ \t]*|[kK]eyMaterial=|WIFI:[^\r\n]{0,80}?;P:"
        r"|<auth-user-pass>\s{0,8}[^\s<>]{1,60}"
        r"\s{1,8}|pre-shared-key=)([^ \t\r\n;\"'<>\\][^\r\n;\"'<>\\]{2,63}?)(?:[;\"'<\\ \t\r\n]|$)",
        "The password of a network, as devices and codes show it.",
    ),
    _rule(
        r"printf[ \t]+\\*[\"'][^\"'\\\r\n%]{1,60}\\+n([^\"'\\\r\n]{3,128})\\+n\\*[\"'][ \t]*>"
        r"[^\r\n]{0,60}(?:cred|pass|auth|login)",
        "A file with a user and a password.",
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
        rf"[ \t]?{_ARGUMENT}",
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
        rf"[ \t]+)?[^ \t\r\n]{{1,60}}[ \t]+{_ARGUMENT}",
        "A password for a file of users.",
    ),
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
        rf"(?:nmcli|iwctl|wpa_cli|pdftk|qpdf|virsh|virt-install){_OPTIONS}(?:[a-z0-9-]{{1,20}}[._]"
        rf")?(?:password|passwd|psk|(?:input|owner|user)_pw|passphrase)[ \t]{_ARGUMENT}",
        "Commands with words instead of options.",
    ),
    SecretRule(
        "flag",
        rf"(?i)(?:{PASSWORD}|psk|[._-]pass|[._,]pass|[._-]pwd?)=(?:{_ARGUMENT})",
        "A setting as the argument of an option.",
        chosen.is_chosen_word,
        before=(
            r"(?:[ \t](?:-[DPe]|--?[a-zA-Z][a-zA-Z-]{0,20}[ =])|kv[ \t]put[ \t])(?:\\*[\"']"
            r"(?:[^ \t\r\n\"'`();]{1,80}[ \t])?)?[^ \t\r\n\"'`();]{0,80}"
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
        rf"|put-parameter[^\r\n]{{1,100}}--value[ =]{_ARGUMENT}[^\r\n]{{1,100}}SecureString"
        rf"|secret[ \t](?:set|create)[^\r\n]{{1,100}}--value[ =]{_ARGUMENT}"
        r"|aws[ \t]configure[ \t]set[ \t](?:[^ \t\r\n]{1,60}\.)?aws_s[a-z_]{5,20}[ \t]+"
        rf"{_ARGUMENT}|gh[ \t]secret[ \t]set[^\r\n]{{1,100}}(?:--body|-b)[ =]{_ARGUMENT}",
        "Commands that store a secret under any name.",
    ),
    _rule(
        rf"[ \t]-[AX][ \t]+{_ARGUMENT}", "The pass phrases of SNMP.", before=r"snmp[^\r\n;|]{1,110}"
    ),
    _rule(
        rf"rabbitmqctl{_OPTIONS}(?:add_user|change_password)[ \t]+[^ \t\r\n]{{1,60}}[ \t]+"
        rf"{_ARGUMENT}",
        "A user of RabbitMQ.",
    ),
    _rule(rf"rclone{_OPTIONS}pass[ =]{_ARGUMENT}", "The password of a remote of rclone."),
    _rule(
        rf"<<<[ \t]*(?:\$?\\*'([^'\r\n]{{3,200}})\\*'|{IN_QUOTES}|([^ \t\r\n\"'`\\$"
        rf"(){{}}]{{3,200}}))",
        "A password on the standard input.",
        before=(
            r"(?:kinit|-stdin|--with-token|sudo -S|chpasswd|passwd|luks[A-Z][a-z]{2,8}"
            r"|password_stdin|openconnect|secret put|read[^\r\n]{0,40}"
            r"(?i:pass|pw|secret|token|key|pat)|(?i:passw|_pass|_pw|/secret|_token))[^\r\n]{0,60}"
        ),
    ),
    _rule(
        r"--password-command[ =]\\*[\"']?echo[ \t]+([^ \t\r\n\"'`\\$]{3,200})",
        "A command that prints the password.",
    ),
    _rule(
        r"echo[ \t]{1,4}(?:-n[ \t]{1,4})?\\*[\"']?[^ \t\r\n\"'`\\|$:]{1,60}:("
        r"[^\r\n\"'`\\|$]{3,128})\\*[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]+)?chpasswd",
        "The password of a user of the system.",
    ),
    word_rule(
        rf"(?i){PASSWORD}=([^ \t\r\n\"'`\\;<>|&(){{}}\[\]$,][^ \t\r\n\"'`\\;<>|&(){{}}\[\]]"
        rf"{{2,127}})(?:[;&\"'`\\ \t\r\n]|$)",
        "A password in a connection string, in a form, or in a URL.",
        before=r"[?&; \t\"'`]|(?:u0026|%26)",
    ),
    word_rule(
        rf"(?i)(?:requirepass|masterauth|rootpw|bind_?pw)[ \t:=]{{1,4}}{_ARGUMENT}",
        "A password in the settings of a server.",
        before=_LINE_START,
    ),
    word_rule(
        rf"password[ \t\r\n]{{1,8}}{_ARGUMENT}",
        "A line of netrc.",
        before=(
            r"(?:machine[ \t]+[^ \t\r\n]{1,100}|default)[ \t\r\n]{1,12}(?:login|user)[ \t]+"
            r"[^ \t\r\n]{1,100}[ \t\r\n]{1,12}"
        ),
    ),
    word_rule(
        r":_(?:password|authToken|auth)[ \t]*=[ \t]*\\*[\"']?([^ \t\r\n\"'\\$]{4,})",
        "The settings of npm.",
    ),
    SecretRule(
        "pgpass",
        r":(?:543[0-9]|6432|\*):[^: \t\r\n\"'/]{1,64}:[^: \t\r\n\"'/]{1,64}:([^ \t\r\n\"'\\]{4,})",
        "A line of the PostgreSQL password file.",
        chosen.is_chosen_word,
    ),
    word_rule(
        r"ansible_(?:become|ssh|sudo|winrm|connection|network)?_?pass(?:word)?\\*[\"']?[ \t]*"
        rf"[:=][ \t]*{_ARGUMENT}",
        "A password in an inventory of Ansible.",
    ),
    quoted_rule(
        rf"(?i){PASSWORD}\\*\"[ \t]*\{{[^{{}}]{{0,300}}?default[ \t]*=[ \t]*{IN_QUOTES}",
        "The default of a variable of Terraform.",
    ),
    password_rule(
        r"(?:--auth-user-pass[ \t]+[^ \t\r\n-][^ \t\r\n]*"
        r"|\brootpw(?:[ \t]+--[a-z-]{1,20})?|message-digest-key"
        r"[ \t]+[0-9]{1,3}[ \t]+md5|\bPASSWORD[ \t]+[a-z_]{2,30}[ \t]+=)"
        r"[ \t]+([^ \t\r\n\"'`\\<>|]{4,128})",
        "Passwords at their place in a command: OpenVPN, Kickstart, OSPF, Elasticsearch.",
        chosen.is_chosen_argument,
    ),
    quoted_rule(
        rf"(?:EAP|XAUTH|PSK|NTLM)[ \t]+{IN_QUOTES}", "The secrets of IPsec.", before=r":[ \t]+"
    ),
    word_rule(
        r"\]:[0-9]{2,5}[ \t]+[^ \t\r\n:\"']{1,60}:([^ \t\r\n\"']{4,128})[ \t]*(?:[\r\n]|\\n|$)",
        "A user and a password after a host, as Postfix maps them.",
    ),
    password_rule(
        r"<<-?[ \t]?\\*[\"']?(?:EOF|EOT|END|PASS|PW|SECRET|HERE"
        r"|STDIN)[A-Z]{0,8}\\*[\"']?[^\r\n\\]{0,60}(?:\r?\n"
        r"|\\n)[ \t]*(?:[a-z][a-z0-9_-]{0,30}:)?([^ \t\r\n\\]{3,200}?)[ \t]*(?:\r?\n|\\n)[ \t]*"
        r"(?:EOF|EOT|END|PASS|PW|SECRET|HERE|STDIN)",
        "A secret as the only line of the standard input.",
        chosen.is_chosen_argument,
        before=(
            r"(?:\blogin|sudo -S|luks[A-Z][A-Za-z]{2,9}|passwd|kinit|[-_]stdin|secrets? (?:set|put"
            r"|create)|\bunlock|--with-token|openconnect|(?:>|tee)[ \t]*[^ \t\r\n]{0,40}(?i:pass|pw"
            r"|secret|token|cred))[^\r\n]{0,80}"
        ),
    ),
    value_rule(
        r"(?:ERLANG_COOKIE\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?"
        r"|-setcookie[ \t]+)([^ \t\r\n\"'`\\$<>,;]{6,128})",
        "The secret that nodes of Erlang share.",
        chosen.is_chosen_word,
    ),
    value_rule(
        r"(?i)\bsecrets\.[a-z0-9_.]{1,40}=\\*[\"']?([^ \t\r\n\"'`\\,;(){}<>]{12,300})",
        "A secret with any name among the values of a chart.",
        chosen.is_key,
    ),
    told_at_end_rule(
        rf"(?i)(?:{PASSWORD}|[_.:/-](?:pass|pwd?)|secret)[ \t=]+{_ARGUMENT}[ \t]*(?:[\r\n;&]"
        rf"|\\+n|\\*[\"']|$)",
        "A command that stores a value under a name.",
        before=(
            r"\b(?:put|set|write|store|insert|add)[ \t]+(?:--?[a-zA-Z-]{1,20}"
            r"(?:[ =][a-z0-9-]{1,20})?[ \t]+){0,3}\\*[\"']?[A-Za-z0-9_/.:-]{1,60}"
        ),
    ),
    told_at_end_rule(
        rf"(?i)(?:{PASSWORD}|[_./-](?:pass|pwd?)\b|[_./-](?:secret|token)|(?:api"
        rf"|secret)[_-]?key)[^\r\n|;:]{{0,60}}"
        r"(?:\|[ \t]*(?:base64|tr|jq|xargs|head|tail|cut|awk|sed)[^\r\n]{0,60})?"
        r"(?:\r?\n|\\+n)[ \t]*\\*[\"']?([^ \t\r\n\"'`\\<>|:(){}\[\],;]{6,128})\\*[\"']?[ \t]*"
        r"(?:[\r\n]|\\+n|\\*\"|$)",
        "What a command prints that asks for a password or a secret.",
        before=(
            r"(?:\A|[\r\n$#>;&|!\"]|\\n)[ \t]*(?:sudo[ \t]+)?(?:cat|echo|printenv|pass|op|bw"
            r"|gopass|lpass|vault|aws|az|gcloud|kubectl|oc|terraform|tofu|pulumi|heroku|fly|consul"
            r"|security|secret-tool|sops|git config|grep -oP"
            r"|doppler|jq|yq|head|tail|docker exec)[ \t][^\r\n;]{0,100}"
        ),
    ),
    told_rule(
        r"\bread[ \t]+-[a-z]{0,3}s[a-z]{0,2}[ \t][^\r\n]{1,60}(?:\r?\n|\\n)[ \t]*"
        r"([^ \t\r\n\"'`\\<>|]{6,128})[ \t]*(?:[\r\n]|\\n|$)",
        "What is typed after a command that reads it without showing it.",
    ),
    password_rule(
        r"(?:echo|printf|yes)[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4}|\\*[\"']%s"
        r"(?:\\+n)?\\*[\"'][ \t]{1,4})?(?:\\*'([^'\r\n\\]{4,200})(?:\\+n)?\\*'"
        r"|\\*\"([^\"\r\n\\]{4,200})(?:\\+n)?\\*\"|([^ \t\r\n\"'`\\|$]{4,200}))[ \t]{0,4}(?:\|"
        r"|>{1,2}|\))[ \t]{0,4}[^\r\n|;&]{0,100}?(?:base64|\bsecrets?[ \t]+(?:create|add|versions)"
        r"|create[ \t]+secret|-login|docker login|(?i:passw|passphrase|secret))",
        "A value that is piped into a command for secrets, or that is encoded or decoded.",
        chosen.is_piped,
    ),
    password_rule(
        r"base64[^\r\n|]{0,20}(?:\r?\n|\\n)[ \t]*([A-Za-z0-9+/]{6,200}={0,2})[ \t]*(?:[\r\n]|\\n"
        r"|\\*\"|$)",
        "What a command prints that encodes a secret.",
        chosen.is_encoded,
    ),
    password_rule(
        rf"<\((?:echo|printf)[ \t]+(?:-n[ \t]+)?{_ARGUMENT}",
        "A command that prints the password in place of a file.",
        chosen.is_chosen_argument,
        before=r"(?i:passw|passphrase|secret|token)[^\r\n]{0,20}",
    ),
)
