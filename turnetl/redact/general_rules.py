"""Rules for secrets in code, markup and settings, where a name and a value stand apart."""

import re
from collections.abc import Iterator

from turnetl.redact import chosen, plausible, table_rules
from turnetl.redact.announced_rules import FIELD, IN_QUOTES, LINE, LINE_END, LINE_START
from turnetl.redact.chosen import line_rule, quoted_rule, told_at_end_rule, told_rule, word_rule
from turnetl.redact.rule import SecretRule, late_pattern, password_rule, value_rule
from turnetl.redact.vocabulary import KEY, PASSWORD, SERVICES

_MAX_ITEMS = 40
_BREAK = rb"(?:\r?\n|\\+n)"
_VALUE = (
    rb"(?:\\*\"([^\"\\\r\n]{3,128}+)\\*\"|\\*'([^'\\\r\n]{3,128}+)\\*'"
    rb"|([^ \t\r\n\"'\\,{}\[\]()#$&*!|>][^\r\n\"'\\,{}\[\]()#:]{2,127}?)(?=[ \t]*(?:[,\]}\r\n#]"
    rb"|\\+n|\Z)))"
)
_KEY = rb"\\*[\"']?([A-Za-z0-9_.@-]{1,60}+)\\*[\"']?[ \t]*(?::|=>|=)[ \t]*"
_POLICY = late_pattern(
    rb"(?i)(?:^|[ \t\n_.\"'-])(?:min|max|len|requir|expir|polic|rotat|histor|allow|enabl|age"
    rb"|type|length|file|path|hash|name|source|ref|format|label|description|default|user|login"
    rb"|e?mail|host|port|url|id\b|region|client|account)"
)
"""Keys that say something about all passwords."""
_QUOTED_ITEM = late_pattern(rb"[ \t\r\n,]*+(?:\\+n[ \t]*+)?(?:" + _KEY + rb")?" + _VALUE)
_LINE_ITEM = late_pattern(
    rb"[ \t]*+(?:-[ \t]++(?:"
    + _KEY
    + rb")?|"
    + _KEY
    + rb")"
    + _VALUE
    + rb"[^\r\n\\]{0,60}?(?:"
    + _BREAK
    + rb"|\Z)"
)
_PAIR_LINE = late_pattern(
    rb"[ \t]*+(?:-[ \t]++)?\\*[\"']?[A-Za-z0-9_.@-]{1,60}+:([^ \t\r\n:\"'\\][^ \t\r\n\"'\\]{2,127})"
    rb"\\*[\"']?[ \t]*(?:" + _BREAK + rb"|\Z)"
)
_OTHER_LINE = late_pattern(
    rb"[ \t]*+(?:-[ \t]++)?[A-Za-z_]{1,20}:[ \t]*[|>a-z]{0,6}-?[ \t]*" + _BREAK
)
"""A line of settings between the name and the pairs: `list: |`, `expire: false`."""


def items(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the values of the list or the mapping that a match opens by a bracket or a line end."""
    is_open = data[match.end() - 1 : match.end()] in b"[{("
    pattern = _QUOTED_ITEM if is_open else _LINE_ITEM
    end = match.end()
    for _ in range(_MAX_ITEMS):
        item = pattern.match(data, end)
        if item is None:
            return
        start, end = item.span(item.lastindex or 0)
        if _POLICY.search(data, item.start(), start):
            return
        yield start, end
        end = item.end()


def pairs(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the passwords of the lines `user:password` below a match."""
    end = match.end()
    for _ in range(_MAX_ITEMS):
        pair = _PAIR_LINE.match(data, end)
        other = _OTHER_LINE.match(data, end) if pair is None else None
        if pair is not None:
            yield pair.span(1)
        elif other is None:
            return
        end = (pair or other).end()  # type: ignore[union-attr]  # one of them matched


# Code: a type, a call and a default between a name and its value.
_SUFFIX = (
    r"(?:_(?:prod|production|dev|staging|test|live|value|old|new|default|base64|b64|encoded|plain"
    r"|[0-9]{1,2})|[0-9])?"
)
_CODE_NAME = (
    rf"(?:{PASSWORD}{_SUFFIX}|secret_?string|[_.-](?:pass|pwd?)|\bpass|pwd|psk|bindpw"
    r"|(?:db|master|user|root|admin|smtp)pass)(?=[^A-Za-z0-9])"
)
_OWNER = r"(?:write|fernet|session|service|storage|shared|server|project|admin)"
# Not `_?key`: a required literal would end before it, and `session` is in most texts.
_KEY_NAME = (
    rf"(?:{KEY}|{_OWNER}key|{_OWNER}_key|_key|_pat|extpat"
    rf"|_auth|app_?id|authorization){_SUFFIX}(?=[^A-Za-z0-9])"
)
_CLOSED = r"(?:\*\*)?\\*[\"'`]?[\])]?"
_TYPE = (
    r"(?:[ \t]*::?[ \t]*[&*A-Za-z][\w<>?,.|&':\[\]() ]{0,24}?|[ \t]+(?:as|string|String|str"
    r"|NVARCHAR|VARCHAR)"
    r"[\w() \[\]]{0,20}?|[ \t]+PROGMEM|[ \t]*\[[0-9]{0,4}\]|[ \t]*\{[ \t]*get;[ \t]*set;[ \t]*\})"
)
_OPERATOR = r"[ \t]*(?:::=|:=|=>|={1,3}|!==?|<-|:|：|\?\??=?|\|\|=?|->|\?:)[ \t]*"  # noqa: RUF001
_CALL = (
    r"(?:<<|(?:[A-Za-z_]{0,20}(?:[sS]ecret|[fF]ield|[sS]ecureString|[sS]tring|bytes|str|Some|Ok"
    r"|Just|[pP]assword|Literal|MD5|md5)(?:Str|Value)?|(?:String|Cow)(?:\.|::)from|Optional\.of"
    r"|bytes\.fromhex|hex2bin|unhexlify|atob|b64decode|base64_decode|encode|hash(?:Sync"
    r"|pw)?)!?\([ \t]*){0,2}(?:(?:default|value)[ \t]*[=:][ \t]*)?(?:&|new )?[bfruNL@$]{0,2}"
)
_DEFAULT = (
    r"(?:[)\]]{1,2}|\}|[ \t]+by[ \t]+lazy)?[ \t]*(?:\.(?:unwrap_or|or_?[eE]lse|getOrDefault"
    r"|unwrap_or_else)\((?:\|_\|[ \t]*)?|\{[ \t]*|,[^\"'\r\n]{0,20}\bdefault[ \t]*[=:][ \t]*"
    r"|\|\|=?[ \t]*|\?\?=?[ \t]*|\?:[ \t]*|or[ \t]+)"
)
_RETURNED = (
    r"[ \t]*\([^()\r\n]{0,60}\)[^{}\r\n\"';]{0,40}(?:\{|:|=>|=)(?:[ \t\r\n]|\\+n){0,24}"
    r"(?:return[ \t]+)?"
)
"""From the name of a function to what it returns."""
_LOOKED_UP = (
    r"[^\r\n;\"']{1,60}(?:\\*[\"'][^\"'\r\n]{0,60}[\"'])?[)\]]{0,2}[ \t]*(?:\?\?|\|\||\?:"
    r"|\bor\b)[ \t]*"
)
# Markup between a name and its value: the end of the tag, and tags.
_TAGS = (
    r"\\*[\"']?:?(?:[ \t][^<>\r\n]{0,120}+)?>?:?(?:</[A-Za-z:-]{1,20}>:?){0,3}(?:[ \t\r\n]|\\n)*"
    r"(?:<(?:[a-z0-9]{1,6}:)?(?:t|r|p|td|dd|span|code|b|strong|em|pre|kbd|div|string|data"
    r"|[A-Za-z-]{0,12}value)(?:[ \t][^<>]{0,60})?>[ \t\r\n]*|<!\[CDATA\[){1,3}"
)
_ELEMENT = rf"(?:{_TAGS}|\\*[\"']?(?:[ \t][^<>\r\n]{{0,120}}+)?>(?:[ \t\r\n]|\\n){{0,20}})"
_VALUE_NAME = (
    r"\\*[\"']?(?:[a-z]{1,10}:)?(?:value|default|s|plain|stringvalue|data|content|initial)\\*[\"']?"
)
_BLANK = r"(?:[ \t\r\n]|\\+n){0,40}"
_INSIDE = (
    rf"\\*[\"']?(?:[ \t]*[:=]{_BLANK}[\[{{(]?|[ \t]*,"
    rf"|[ \t\r\n]){_BLANK}{_VALUE_NAME}[ \t]*[:=][ \t]*"
)
_ASSIGNED = (
    rf"(?:{_CLOSED}(?:(?:{_TYPE}?{_OPERATOR}|{_DEFAULT}|{_RETURNED}){_CALL}"
    rf"|{_OPERATOR}{_LOOKED_UP})|{_INSIDE})"
)
# Literals that no quote delimits: Lua, Perl, Ruby, C++, Rust, PostgreSQL, Python.
_RAW = (
    r"(?:\[=*\[([^\[\]\r\n]{3,128})\]=*\]|%?[qQ]{1,2}(?:\{([^{}\r\n]{3,128})\}|\(([^"
    r"()\r\n]{3,128})\)|\[([^\[\]\r\n]{3,128})\])"
    r"|R\\*\"[a-z]{0,8}\(([^()\r\n]{3,128})\)|r#{1,3}\\*\"([^\"\r\n]{3,128})\"#"
    r"|\$[a-z]{0,8}\$([^$\r\n]{3,128})\$|`([^`$\r\n]{3,128})`"
    r"|\"{3}([^\"\r\n]{3,128})\"{3}|'{3}([^'\r\n]{3,128})'{3})"
)
_ARGUMENT = r"(?:\\*[\"'][^\"'\\\r\n]{0,100}\\*[\"']|[A-Za-z_][\w.]{0,40})"
GENERAL_RULES = (
    quoted_rule(
        rf"(?i){_CODE_NAME}(?:{_CLOSED}{_TYPE}?{_OPERATOR}{_RAW}|{_ASSIGNED}{IN_QUOTES}"
        rf"|[ \t]{{1,20}}{IN_QUOTES}[ \t]*;?[ \t]*(?:[\r\n]|\\n|$)"
        rf"|\\*[\"']?[ \t]*:[ \t]*\[[ \t\r\n]*{IN_QUOTES}[ \t]*\])",
        "A quoted value of a password: with a type, a call, a default, in an object or beside it.",
    ),
    value_rule(
        rf"(?i){_KEY_NAME}(?:{_ASSIGNED}{IN_QUOTES}|\\*[\"'],[ \t]*{IN_QUOTES}[ \t]*[)\]]|{FIELD}"
        rf"|{_ELEMENT}([^<>\r\n\]]{{8,300}}?)[ \t\r\n]*(?:\]\]>|<))",
        "A value of a key or a token: quoted in the same places, as a field, in markup.",
        chosen.is_drawn_or_marked,
    ),
    told_rule(
        rf"(?i){_CODE_NAME}{_CLOSED}{_OPERATOR}[\w.:]{{1,40}}\([ \t]*{IN_QUOTES}[ \t]*\)",
        "A drawn password in any call.",
    ),
    line_rule(
        rf"(?i)(?:{PASSWORD}|[_.](?:pass|pwd?))(?::-|:=|:|-)([^{{}}?\r\n][^{{}}\r\n]{{2,127}})\}}",
        "The default of a variable, in settings and in shells.",
        before=r"\$\{[A-Za-z0-9_.]{0,40}",
    ),
    word_rule(
        rf"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD?)[ \t]=[ \t]{LINE}{LINE_END}",
        "A password in capitals and without quotes.",
        before=rf"{LINE_START}[A-Z0-9_]{{0,40}}",
    ),
    line_rule(
        rf"(?i)(?:{PASSWORD}|\bpass|\bpwd?){_ELEMENT}([^<>\r\n\]]{{3,300}}?)[ \t\r\n]*(?:\]\]>|<)",
        "A value in markup, after its name in another element.",
    ),
    line_rule(r"(?i)pass>([^<>\r\n]{4,300})</", "An element whose name ends in `Pass`."),
    quoted_rule(
        rf"(?i){PASSWORD}[A-Za-z0-9 _()\]-]{{0,24}}(?:\\*[\"']|[ \t]*(?:[\r\n,}}]|\\+n|$))",
        "A value before its name.",
        locate=table_rules.value_before,
        before=(
            r"(?i:(?:value|text|content|input|stdin|fill|answer)\\*[\"']?[ \t]*[:=][^\x00]{3,200}"
            r"(?:name|key|type|id|element|selector|locator|label|field|target|placeholder|into"
            r"|prompt|title"
            r"|description)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?)[A-Za-z0-9_.#=\[ -]{0,30}"
        ),
        before_bytes=300,
    ),
    quoted_rule(
        rf"(?i){_CODE_NAME}\\*[\"']?,[ \t]*{IN_QUOTES}[ \t]*[)\]}}]",
        "A name and a value as the arguments of any call, or as a pair.",
        before=r"(?:[(\[{][ \t]*\\*[\"']|define\([ \t]*|\{)[A-Za-z0-9_.-]{0,40}",
    ),
    quoted_rule(
        rf"(?i){PASSWORD}(?: ?<[a-z]{{1,12}}>)?\\*[\"'],[ \t]*(?:\\*[\"']"
        rf"(?:-{{1,2}}[a-zA-Z_-]{{1,40}})?\\*[\"'],[ \t]*)?{IN_QUOTES}",
        "The default of an option.",
        before=r"(?i:option|flag\.string|flags?\.string(?:var)?)\([^()\r\n]{0,60}\\*[\"'][A-Za-z0-9_.-]{0,40}",
    ),
    quoted_rule(
        rf"(?i)(?:log_?in(?:_?as)?|sign_?in(?:_?as)?|basic_?auth(?:entication)?|\bauth|creds"
        rf"|simple_bind(?:_s)?|createuser|create_user"
        rf"|add_?user|passwordtoken|keystore\.load|credentials)\\*[\"']?(?:[ \t]*[=:][ \t]*)?["
        rf"(\[][ \t]*(?:{_ARGUMENT},[ \t]*){{1,2}}{IN_QUOTES}"
        rf"(?:\.toCharArray\(\))?[ \t]*[)\]]",
        "A call with a user and a password, or a pair of them.",
    ),
    quoted_rule(
        rf"(?i)(?:(?:mysql|psycopg|oracledb|mysqli|\bftp|pyodbc)[a-z0-9_.]{{0,20}}\("
        rf"[ \t]*{_ARGUMENT},[ \t]*"
        rf"|sp_(?:addlogin|password)[ \t]+){_ARGUMENT},[ \t]*N?{IN_QUOTES}[ \t]*[,);]",
        "The address, the user and the password of a server.",
    ),
    quoted_rule(
        rf"(?i)(?:(?:bcrypt|pwd|password|crypt)[a-z_]{{0,12}}\.(?:hash|compare|verify|encode"
        r"|matches)(?:sync)?|hashpw|password_(?:verify|hash)|_password_hash|scrypt(?:sync)?"
        rf"|pbkdf2[a-z_]{{0,12}}|rfc2898derivebytes|pbekeyspec)\([ \t]*b?{IN_QUOTES}",
        "A password that is hashed, or of which a key is derived.",
    ),
    value_rule(
        rf"(?i)(?:jwt\.(?:sign|verify|encode|decode)|createhmac|hmac\.new|set_?api_?key|(?:client"
        rf"|bot)\.(?:login|run|start)"
        rf"|{SERVICES}[a-z.]{{0,20}})\([ \t]*(?:{_ARGUMENT},[ \t]*)?b?{IN_QUOTES}",
        "A key as an argument of a library that needs one.",
        chosen.is_drawn,
    ),
    quoted_rule(
        rf"()[\"'\x00-\x01][)\]}};, \t]{{0,8}}(?:# |// |-- |<- |\()(?:the |my |your "
        rf"|(?:user(?:[ _-]?name)?|login|host)(?:,| and|/| and a)? ?)?{PASSWORD}",
        "A value that a comment explains.",
        reversed_prefix=rb"[^\"'\\\r\n]{3,128}+(?=[\"'])",
    ),
    value_rule(
        r"(?i)(?:get-login-password|print-(?:access|identity)-token|node-token|create token"
        r"|auth token)[^\r\n]{0,60}\r?\n([^ \t\r\n]{24,})",
        "What a command prints that asks for a token.",
        chosen.is_key,
    ),
    word_rule(
        rf"(?i)(?:{PASSWORD}|pwd?|pass)=([^ \t\r\n\"'`,;&(){{}}\[\]<>]{{4,128}})(?:[ \t,&]|$)",
        "A password beside its user, or among the options of a connection.",
        before=r"(?i:(?:user(?:name)?|login|uid)=[^ \t\r\n&,]{1,60}[ \t&,;|/]{1,4}|:[0-9]{2,5},)",
    ),
    word_rule(
        rf"(?i)(?:shared_?)?secret[ \t]*=[ \t]*{LINE}{LINE_END}",
        "The secret of a client, in a block of settings.",
        before=r"\{[^{}()\x00]{0,110}\n[ \t]*",
    ),
    line_rule(
        rf"(?i){PASSWORD}[ \t]+(?:REG_SZ[ \t]+)?([^ \t\r\n\"'`\\<>|]{{3,128}})[ \t]*(?:[\r\n]|\\+n"
        rf"|$)",
        "A row of a table of names and values.",
        before=(
            r"(?:Key[ \t]+Value[ \t]*(?:\r?\n|\\n)[ \t]*--[^\x00]{0,250}(?:\n|\\n)|\n|\\n|\A)"
            r"[ \t]*[A-Za-z0-9_]{0,30}"
        ),
        before_bytes=300,
    ),
    value_rule(
        rf"(?i)(?:{KEY}|_key)[ \t]+([^ \t\r\n\"'`\\<>|]{{3,128}})[ \t]*(?:[\r\n]|\\+n|$)",
        "The same with a key or a token.",
        chosen.is_secret_value,
        before=(
            r"Key[ \t]+Value[ \t]*(?:\r?\n|\\n)[ \t]*--(?:[^\x00]{0,250}(?:\n|\\n))"
            r"[ \t]*[A-Za-z0-9_]{0,30}"
        ),
        before_bytes=300,
    ),
    line_rule(
        rf"(?i)(?:{PASSWORD}|_pass|_pwd?)\t([^\t\r\n\"'`\\<>|]{{3,128}})(?:[\t\r\n]|$)",
        "A name and a value in columns that tabulators separate.",
        before=r"(?:\A|[\r\n])[ \t]*[A-Za-z0-9_]{0,30}",
    ),
    quoted_rule(
        rf"(?i)(?:pwd|{PASSWORD})=\{{([^{{}}\r\n]{{3,128}})\}}",
        "A password in braces in a connection string.",
        before=r";[ \t]*",
    ),
    SecretRule(
        "url-password",
        r"(?i)(?:connection|dsn|conn_?str(?:ing)?|_ur[li])\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']"
        r"[^\"':/@\s\\]{1,40}:([^@\s\"'\\/][^@\s\"'\\]{2,128})@",
        "A user and a password before a host, without a scheme.",
        plausible.is_password,
    ),
    word_rule(
        rf"(?i)&[a-z0-9_-]{{0,20}}(?:{PASSWORD}|secret|token|\bpwd?)[ \t]+(?:{IN_QUOTES}"
        rf"|([^ \t\r\n\"'*&]{{4,128}})[ \t]*(?:[\r\n]|$))",
        "An anchor of YAML with the name of a secret.",
        before=r":[ \t]+",
    ),
    word_rule(
        rf"(?i)(?:{PASSWORD}s|passworts|cred(?:ential)?s?)(?:_?by_?user)?\\*[\"']?"
        rf"(?:[ \t]*:[ \t]*[A-Za-z][^\r\n=\"']{{0,40}})?"
        rf"[ \t]*(?::?=|:|=>)[ \t]*(?:(?:\[\][a-z]{{1,10}}|new[^\r\n{{(]{{1,30}}|list|set"
        rf"|tuple)?\(?[\[{{(]|\r?\n|\\+n)",
        "A list of passwords, or one for each user.",
        locate=items,
    ),
    quoted_rule(
        r"(?i)(?:basic_?auth|credentials?|creds|user_?pass(?:word)?|\blogin|http_?auth|auth"
        r"(?=[ =]))\\*[\"']?[ \t]*(?:[:=]|=>)[ \t]*\\*[\"'][A-Za-z0-9_.@\\-]{1,60}:"
        r"([^\"'\\\r\n/][^\"'\\\r\n]{2,127})\\*[\"']",
        "A user and a password in one string.",
    ),
    quoted_rule(
        r"(?i)(?:chpasswd|basic_?auth(?:_?users)?|htpasswd|user_?pass|userlist"
        r"|logins)[^\r\n:]{0,40}(?::[ \t]*[|>]?-?[ \t]*|[ \t]*)(?:\r?\n|\\+n)",
        "Lines with a user and a password.",
        locate=pairs,
    ),
    password_rule(
        r"(?i)(?:b64decode|atob|frombase64string|base64_decode|decode64|decodestring"
        r"|base64\.decode[a-z]{0,10})\("
        rf"[ \t]*b?{IN_QUOTES}",
        "A value in base64 that code decodes.",
        chosen.is_encoded,
    ),
    quoted_rule(
        rf"(?i)(?:user(?:name)?|login|name|email),[ \t]*(?:{PASSWORD}|pwd?"
        rf"|pass)\)?[ \t]*:?=[ \t]*\(?[ \t]*{_ARGUMENT},[ \t]*{IN_QUOTES}",
        "A user and a password that are assigned together.",
    ),
    quoted_rule(
        rf"(?i){PASSWORD}\\*[\"']?[ \t]*[:=][ \t]*\\*[\"'][^\"'\r\n]{{0,200}}\\*[\"'][ \t]*(?:->"
        rf"|=>|→)[ \t]*{IN_QUOTES}",
        "A password that a plan changes.",
    ),
    line_rule(
        rf"(?i){PASSWORD}\\*[\"']?:[ \t]*(?:(?:\r?\n|\\n)[ \t]+[A-Za-z]{{2,24}}:[ \t]*[^\r\n\\]"
        rf"{{0,100}}){{0,6}}?(?:\r?\n|\\n)[ \t]+default:[ \t]+{LINE}{LINE_END}",
        "The default of a parameter in a template.",
    ),
    told_rule(
        r"(?i)(?:\bauth|credentials|basic_?auth|login):[ \t]*(?:\r?\n"
        r"|\\n)[ \t]*-[ \t]+[^ \t\r\n:]{1,60}(?:\r?\n|\\n)"
        r"[ \t]*-[ \t]+\\*[\"']?([^ \t\r\n\"'\\:]{4,128})\\*[\"']?[ \t]*(?:[\r\n]|\\n|$)",
        "A user and a password as a list.",
    ),
    told_at_end_rule(
        r"(?i)stdin\\*[\"'][ \t]*:[ \t]*\\*[\"']([^\"'\\\r\n]{4,128})"
        r"(?:\\+n)?\\*[\"'][^\r\n]{0,200}?(?:sudo|passw|-stdin|login|secret)",
        "What an agent types into a command that asks for a password.",
    ),
)
