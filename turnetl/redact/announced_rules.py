"""Rules for passwords after a keyword: in settings, code, markup, requests and databases."""

from turnetl.redact import chosen, drawn_tokens, plausible
from turnetl.redact.chosen import line_rule, quoted_rule, told_rule, word_rule
from turnetl.redact.rule import SecretRule, password_rule, value_rule
from turnetl.redact.vocabulary import PASSWORD

# Keywords of passwords, which people choose, and of tokens, which machines generate.
_CHOSEN_NAMES = r"(?:passw(?:or)?d|pwd|passphrase)"
_FOREIGN_NAMES = (
    r"(?:passwort|kennwort|requirepass|identified by|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha"
    r"|hasło|clave|api[ -]schlüssel|пароль|Пароль|密码|密钥|パスワード|비밀번호)"
)
_GENERATED_NAMES = (
    r"(?:secret(?:[ _-]?key)?|token|license_key|write_key|admin_key|webhook_key|ingestion_key"
    r"|fernet|hmac|pepper|totp|jwt[_-]signing|x-auth|functions-key|subscription-key|deploy_key"
    r"|session_key|hmac_key|sdk_key|service_key|storage_key|ext_pat|"
    r"api[ _-]?key|access[ _-]?key(?:[_-]id)?|private[_-]?key|account[_-]?key"
    r"|auth[_-]?key|master[_-]?key|app[_-]?key|encryption[_-]?key|signing[_-]?key|preshared[_-]?key"
    r"|credentials?)"
)
_NAME_SUFFIX = r"(?:_(?:prod|production|dev|staging|test|live|value|key|base|secret|[0-9]+)){0,2}"
# In nested JSON, any number of backslashes precedes a quote.
# A newline, also escaped in JSON, after a line number or in a diff.
LINE_BREAK = (
    r"(?:\\+[nr]|[\r\n]){1,4}[^A-Za-z0-9\\\r\n]{0,40}(?:[0-9]{1,6}[^A-Za-z0-9\\\r\n]{1,40})?"
)
# YAML may put a value on the line after its name.
_ASSIGNED = rf"\\*[\"'`]?\]?[ \t]*(?::=|=>|=|:|：)[ \t]*(?:[>|][+-]?{LINE_BREAK})?"  # noqa: RUF001  wide
_NOT_VALUE = r" \t\r\n\"'`\\,;<>{}()\[\]"
_VALUE_END = r"(?:[ \t\r\n\"'`\\,;&<|]|$)"
_QUOTED = r"\\*[\"'`]([^\"'`\\\r\n]{4,})\\*[\"'`]"
_UNQUOTED = rf"([^$|{_NOT_VALUE}][^{_NOT_VALUE}]{{5,}}){_VALUE_END}"
# A token has a digit near its start: most words near a keyword have none and are no candidates.
_QUOTED_GENERATED = (
    r"\\*[\"'`]((?:[^0-9\"'`\\\r\n]{5,39}[0-9]|[^0-9\"'`\\\r\n]{0,4}[0-9][^\"'`\\\r\n]{5})"
    r"[^\"'`\\\r\n]*)\\*[\"'`]"
)
_UNQUOTED_GENERATED = (
    rf"((?:[^0-9$|{_NOT_VALUE}]{{5,39}}[0-9]|[^0-9$|{_NOT_VALUE}]{{0,4}}[0-9][^{_NOT_VALUE}]{{5}})"
    rf"[^{_NOT_VALUE}]*){_VALUE_END}"
)
_LONG_VALUE = rf"[^{_NOT_VALUE}]{{200,}}"
# Markup, colours, escapes and types between a name and its value: one character or word at a time,
# so that there is only one way to match them.
_MARKUP = (
    r"(?:\\{0,8}(?:\x1b|u001b|x1b|033)?\[[0-9;]{0,8}[mK]|[^A-Za-z0-9\\%&\r\n]|\\{1,8}[\"'`t]"
    r"|\\{1,8}u00[0-9a-f]{2}|%[0-9A-Fa-f]{2}|&(?:(?:quot|amp|nbsp|#[0-9]{2});)?"
    r"|[bfru]\\{0,8}[\"'`]|(?<!=)(?:t[dh]|d[dt]|code|strong|span|None|str(?:ing)?|name|pw|value|type"
    r"|est?|ist|lautet|di|root|s)[^A-Za-z0-9\\\r\n\x1b])"
)
_NEXT_LINE = (
    rf"(?:[ \t\"'`*]{{0,6}}[:=][ \t\"'`*]{{0,6}}{LINE_BREAK}"
    rf"(?:{LINE_BREAK}|(?:bash|env|sh|text|txt){LINE_BREAK})?"
    rf"|[\"'`, \t\\]{{0,8}}{LINE_BREAK}[\"'`\\]{{0,4}}value[\"'`\\]{{0,4}}[ \t]*[:=]"
    rf"|[\"'\\]{{0,4}}[ \t]*\{{(?:{LINE_BREAK}[a-z]{{1,12}}[ \t]*=[^\r\n\\]{{1,40}}){{0,3}}"
    rf"{LINE_BREAK}default[ \t]*=)[ \t]*\\*[\"'`]?"
)
_GENERATED_VALUE = r"([!#$*+./0-9:=?@A-Z^_a-z~-]{8,})"
KEYWORD_RULES = (
    password_rule(
        rf"(?i){_CHOSEN_NAMES}{_NAME_SUFFIX}(?:{_ASSIGNED}|[ \t]+is:?[ \t]+){_UNQUOTED}",
        "A password without quotes: .env, YAML, a sentence.",
        plausible.is_unquoted_password,
        skip=rf"{_CHOSEN_NAMES}{_NAME_SUFFIX}{_ASSIGNED}{_LONG_VALUE}",
    ),
    password_rule(
        rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_ASSIGNED}(?:{_QUOTED_GENERATED}"
        rf"|{_UNQUOTED_GENERATED})",
        "A keyword so short that only a generated value differs from ordinary words.",
        plausible.is_token,
        # `bypass` and `compass` are words.
        before=r"(?<![Bb]y)(?<![Cc]om)(?<![Tt]res)(?<![Ss]ur)(?<![Oo]ver)(?<![Uu]nder)",
        skip=rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_ASSIGNED}{_LONG_VALUE}",
    ),
    value_rule(
        rf"(?i)(?:{_GENERATED_NAMES}{_NAME_SUFFIX}{_ASSIGNED}"
        rf"|authorization{_ASSIGNED}(?:[a-z-]{{2,12}}[ \t]+)?)(?:{_QUOTED}|{_UNQUOTED})"
        rf"|{_GENERATED_NAMES}{_NAME_SUFFIX}[ \t]+is:?[ \t]+{_UNQUOTED}",
        "The value of a token, a secret or a key: code, .env, YAML, a header, a sentence.",
        chosen.is_secret_value,
        skip=rf"{_GENERATED_NAMES}{_NAME_SUFFIX}{_ASSIGNED}{_LONG_VALUE}",
    ),
    password_rule(
        rf"(?i)(?:passw(?:or)?d|passphrase|{_FOREIGN_NAMES}){_NAME_SUFFIX}(?:{_MARKUP}{{1,60}}"
        rf"|{_NEXT_LINE}){_GENERATED_VALUE}",
        "A password in tables, HTML, colours and escapes, with a type, or on the next line.",
        plausible.is_generated_password,
    ),
    value_rule(
        rf"(?i){_GENERATED_NAMES}{_NAME_SUFFIX}(?:{_MARKUP}{{1,60}}"
        rf"|{_NEXT_LINE}){_GENERATED_VALUE}",
        "A generated token in the same places.",
        plausible.is_generated_value,
    ),
    SecretRule(
        "flag",
        r"(?i)(?:password|passwd|passphrase|storepass|keypass|token|api-?key"
        rf"|secret|secret-string|authtoken)[ =]\\*[\"']?{_UNQUOTED}",
        "A secret in an option of a command.",
        plausible.is_unquoted_password,
        before=r"(?<![A-Za-z0-9])--?(?i:[a-z]{1,12}-){0,2}",
    ),
)


_SUFFIX = r"(?:_(?:prod|production|dev|staging|test|live|value|[0-9]{1,2})){0,2}"
_JOINED = r"(?:user|admin|root|smtp|mail|auth|login|ftp|db)pass"
_NAME = rf"(?:{PASSWORD}{_SUFFIX}|[_.-](?:pass|pwd?)|{_JOINED}|pwd|psk|bindpw)"
_SHORT = r"(?:[Pp]ass|PASS|[Pp]w|PW)"
_SHORT_STARTS = r"(?:\A|[^A-Za-z])"
_CLOSED = r"(?:\*\*)?\\*[\"'`]?\]?[ \t]*"
_TYPE = r"(?::[ \t]*&?[A-Za-z][\w<>?. ]{0,20}|[ \t](?:string|String|str))?"
_OPERATOR = r"[ \t]*(?::=|=>|={1,3}|!==?|<-|:|：|\?\?|\|\||->)(?:\*\*)?[ \t]*"  # noqa: RUF001  wide
_WRAPPED = (
    r"(?:(?:[sS]ecret(?:Str)?|SecureString|String(?:::from)?|str|Some|Ok|new [A-Za-z]{1,14}|Pa"
    r"ssword|make_password|hash(?:Sync|pw)?|encode)\()?(?:&|new )?[bfruNL@]?"
)
IN_QUOTES = (
    r"(?:\\+\"([^\"\\\r\n]{3,128})\\+\"|\"((?:[^\"\\\r\n]|\\[^nrt\r\n]){3,128}?)\""
    r"|\\+'([^'\\\r\n]{3,128})\\+'|'((?:[^'\\\r\n]|\\[^nrt\r\n]){3,128}?)'"
    r"|“(.{3,128}?)”|« ?(.{3,128}?) ?»|「(.{3,128}?)」)"
)
IN_BACKTICKS = r"\\*`([^`\\\r\n]{3,128})\\*`"
WORD = r"([^ \t\r\n\"'`\\;<>|&()\[\]{}$,]{2}[^ \t\r\n\"'`\\;<>|&]{1,127})"
_IN_TWO_BLOCKS = (
    r"\\*\"([^\"\\\r\n]{0,64}\r?\n\r?\n[^\"\\\r\n]{1,64})\\*\""
    r"|\\*'([^'\\\r\n]{0,64}\r?\n\r?\n[^'\\\r\n]{1,64})\\*'"
)
_SIGN_IN_WORD = r"(?<=[A-Za-z0-9])[\"`](?=[A-Za-z0-9])|\\(?![nrtuxbf])(?=[A-Za-z])"
"""A quote or a backslash that ends no string and is no escape."""
LINE = rf"([^ \t\r\n\"'`\\#|>&*!%{{\[<-](?:[^\r\n\"`\\]|{_SIGN_IN_WORD}){{2,127}}?)"
LINE_END = r"[ \t]*(?:[ \t]#[^\r\n]*)?(?:\\+[nr]|[\r\n]|$)"
LINE_START = (
    r"(?:(?:\A|[\r\n])(?:[0-9 ]{1,8}(?:\t|→))?|\\n|[:\[,][ \t]?\\*\")"
    r"(?:[A-Za-z0-9_./-]{1,80}:(?:[0-9]{1,6}:)?)?[ \t+>-]{0,24}\"?"
)
_NODE = r"(?:(?:&[A-Za-z0-9_-]{1,30}|!!str|!vault|!unsafe)[ \t]+)?"
_KEY_PREFIX = r"[A-Za-z0-9_.\"'\[\]-]{0,60}"
_SECRETS = (
    r"(?:SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH_?KEY|MASTER_?KEY|APP_?KEY"
    r"|ENCRYPTION_?KEY|SIGNING_?KEY|SECRET_?KEY|CREDENTIALS?|_KEY|_PAT)"
)
_GENERATED = (
    r"(?:secret|token|(?:api|access|secret|private|account|auth|master|app|encryption|signing|"
    r"preshared)"
    r"[ _-]?key|credentials?|_key|writekey|licensekey|adminkey|webhookkey|ingestionkey|fernetkey"
    r"|deploykey|sessionkey|hmackey|sdkkey|servicekey|storagekey|sharedkey|serverkey|projectkey"
    r"|_pat|extpat)"
)
_PAIR = (
    rf"[?:]?\\*[\"']?[ \t]*(?:[ \t][A-Za-z-]{{1,20}}=\\*[\"'][^\"'<>\r\n]{{0,60}}\\*[\"']){{0,4}}"
    rf"(?:[,;/][ \t]*|{LINE_BREAK}|[ \t]+)\\*[\"']?(?:[\w.\[\]-]{{0,40}}[.\]_])?"
    r"(?:(?:Parameter|default|current|string|new_?)?[vV]alue|new|answer)\\*[\"']?[ \t]*[:=][ \t]*"
)
# What separates a name from its value: a diff of words, a block of YAML, two fields, XML.
FIELD = (
    r"(?:\\*\"?[:=][ \t]*\\*[\"']?(?:\[-[^\r\n]{0,128}-\])?\{\+([^\r\n]{3,300}?)\+\}"
    rf"|:[ \t]*[>|][+-]?[ \t]*{LINE_BREAK}{LINE}{LINE_END}"
    rf"|\\*[\"']?[ \t]*(?:\r?\n|\\n)[ \t]{{0,24}}:[ \t]+\\*[\"']?{LINE}\\*[\"']?{LINE_END}"
    rf"|\\*\"?:[ \t]*{LINE_BREAK}(?:value|default|plain|raw|content|data):[ \t]+{LINE}{LINE_END}"
    rf"|{_PAIR}(?:{IN_QUOTES}|{LINE}{LINE_END})"
    r"|\\*[\"']?[ \t]*>([^<>\r\n]{3,300})</|</key>[^<>]{0,40}<string>([^<>\r\n]{3,300})</)"
)
ANNOUNCED_RULES = (
    line_rule(
        rf"(?i){_NAME}{_SUFFIX}{FIELD}",
        "Name and value as two fields: Kubernetes, XML, CloudFormation, blocks of YAML.",
    ),
    quoted_rule(
        rf"{_SHORT}{_CLOSED}{_OPERATOR}{_WRAPPED}{IN_QUOTES}",
        "A quoted value after a short name of a password.",
        before=_SHORT_STARTS,
    ),
    quoted_rule(
        rf"(?:Pass|Pwd?|PW){_CLOSED}{_TYPE}{_OPERATOR}{_WRAPPED}{IN_QUOTES}",
        "A quoted value after a name that ends in `Pass`.",
        before="[a-z]",
    ),
    word_rule(
        rf"(?:PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PASS|_PWD?|_PIN|PSK)(?:_[A-Z0-9]{{1,10}})?="
        rf"(?:{WORD})",
        "A password in an environment variable.",
    ),
    word_rule(
        rf"(?:PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PASS|_PWD?|{_SECRETS})[ \t]{{1,4}}{WORD}"
        rf"{LINE_END}",
        "A password or a secret in a Dockerfile, in fish, or in cmd.",
        before=(
            r"(?:ENV|ARG|SetEnv|fastcgi_param"
            r"|setx?(?: [/-][a-zA-Z]{1,3})?)[ \t]{1,4}[A-Z0-9_]{0,40}"
        ),
    ),
    value_rule(
        rf"{_SECRETS}=\\*[\"']?{WORD}",
        "A secret of any form in an environment variable.",
        chosen.is_chosen_word,
        before=r"[A-Z0-9]_?",
    ),
    line_rule(
        rf"(?i)(?:{_NAME}|\bpass|\bpw)[ \t]*=[ \t]*{LINE}{LINE_END}",
        "A password in the section of an INI file.",
        before=(
            rf"(?:\A|[\r\n])(?:[A-Za-z0-9_./-]{{1,80}}:)?[+ -]?\[[A-Za-z0-9_. \"-]{{1,60}}\]"
            rf"[^\[\]{{}}()]{{0,250}}?{LINE_START}{_KEY_PREFIX}"
        ),
        before_bytes=300,
    ),
    word_rule(
        rf"(?i){_NAME}={LINE}{LINE_END}",
        "A password in a file of properties.",
        before=rf"{LINE_START}{_KEY_PREFIX}",
    ),
    line_rule(
        rf"(?i){_NAME}(?:\.default)?\\*\"?:[ \t]{{1,16}}{_NODE}{LINE}{LINE_END}",
        "A password in YAML, or a line of a chat.",
        before=rf"{LINE_START}(?:[A-Za-z0-9_.-]{{0,40}}|(?:[A-Za-z]{{1,12}} ){{0,3}})",
    ),
    word_rule(
        rf"(?i){_NAME}:[ \t]+{_NODE}([^ \t\r\n\"'`\\,;{{}}\[\]]{{4,64}})[ \t]*[,}}]",
        "A password in a mapping of YAML on one line.",
        before=r"\{[A-Za-z_]{1,40}: [^\r\n{}\"'();=]{0,120}",
    ),
    line_rule(
        rf"(?i){_NAME}\\*\"?[:=][ \t]*\\*[\"']?\[-([^\r\n]{{3,128}}?)-\]",
        "A password that a diff of words removes.",
    ),
    line_rule(
        r"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD?)=([^\"\r\n]{3,128})\"",
        "A password with spaces in cmd.",
        before=r"(?i:setx?)[ \t]+\"[A-Z0-9_]{0,40}",
    ),
    quoted_rule(
        rf"(?i){_NAME}[ \t]+{IN_QUOTES}",
        "A name and a value without a sign between them, as in Lisp and in build files.",
        before=(
            r"(?:\A|[\r\n(:]|\\n|(?:setq|setf|define|def|with)[ \t])"
            r"[ \t:*]{0,16}[A-Za-z0-9_.*-]{0,40}"
        ),
    ),
    quoted_rule(
        rf"(?i){_NAME}\"[ \t]*,[ \t]*{IN_QUOTES}[ \t]*(?:[\r\n]|$)",
        "A name and a value in a row of CSV.",
        before=rf"(?:\A|[\r\n])[ \t]*\"{_KEY_PREFIX}",
    ),
    line_rule(
        r"(?i)(?:pwd|password)[ \t]*=[ \t]*([^;\"'<>&\r\n]{3,128})[;\"'<&]",
        "A password in a connection string.",
        before=r"=[^;=\"'\r\n]{1,80};[ \t]*",
    ),
    password_rule(
        rf"(?i){_NAME}{_CLOSED}{_OPERATOR}{_WRAPPED}(?:{_IN_TWO_BLOCKS})",
        "A quoted value that the end of a content block splits.",
        chosen.is_chosen_in_two,
    ),
    password_rule(
        rf"(?i){_NAME}{_CLOSED}[=:][ \t]*\r?\n\r?\n([^ \t\r\n\"'`=:;,(){{}}\[\]<>#*|-]"
        r"[^ \t\r\n\"'`=:;,(){}\[\]<>|]{7,127})[ \t]*(?:[\r\n]|$)",
        "A name at the end of a content block, and its value at the start of the next one.",
        plausible.is_unquoted_password,
    ),
    quoted_rule(
        r"(?i)(?:log_?in|sign_?in|logon|authenticate|credentials?|creds|basic_?auth|digest_?auth"
        r"|PDO|mysqli(?:_connect)?|getConnection|passwordAuthentication|ldap_bind|plainauth)"
        r"(?:async|token)?\\*[\"']?(?:[ \t]*[:=]{1,2}[ \t]*)?[(\[]"
        r"(?:[^()\"'\r\n]{0,60}(?:\\*[\"'][^\"'\\\r\n]{0,100}\\*[\"'])?,[ \t]*)?"
        rf"\\*[\"'][^\"'\\\r\n]{{1,60}}\\*[\"'],[ \t]*{IN_QUOTES}",
        "A call with a user and a password.",
    ),
    value_rule(
        rf"(?i)_key{_CLOSED}(?:=|:|:=)[ \t]*([A-Za-z0-9+/_-]{{16,200}})(?:[^A-Za-z0-9+/_-]|$)",
        "A drawn value of any key, without quotes.",
        drawn_tokens.is_drawn_key,
    ),
    value_rule(
        rf"(?i)(?:{_GENERATED}){_SUFFIX}(?:_?(?:base|key))?[`*\" \t]*\|[`*\" \t]*"
        r"([^|\r\n`]{8,300}?)[`*\" \t]*\|",
        "A secret in the row of a table.",
        chosen.is_drawn_cell,
    ),
    value_rule(
        rf"(?i){_GENERATED}{_SUFFIX}(?:_?(?:base|key))?:[ \t]+([^ \t\r\n\"'`\\,;{{}}\[\]]{{8,300}})"
        rf"[ \t]*[,}}]",
        "A secret in a mapping of YAML on one line.",
        chosen.is_drawn,
        before=r"\{[A-Za-z_]{1,40}: [^\r\n{}\"'();=]{0,120}",
    ),
    quoted_rule(
        r"(?i)(?:identified[ \t]+(?:with[ \t]+[a-z0-9_]{1,40}[ \t]+)?by|password|pragma (?:re)?key)"
        r"(?:[ \t]+|[ \t]*=[ \t]*|[ \t]*\()(?:password[ \t]*)?\(?[ \t]*N?"
        r"\\*[\"']([^\"'\\\r\n]{3,128})\\*[\"']",
        "A password in SQL.",
        before=r"(?<!get_)(?<![Gg]et)(?<!find_)(?<!read_)",
    ),
    word_rule(
        rf"(?:PASS|[Pp]ass|PWD?|[Pp]wd?)={WORD}",
        "A password in a variable of a shell with a short name.",
        before=r"(?:\A|[\r\n;&]|\\n)[ \t]*(?:(?:export|set|local|readonly|declare)[ \t]+)?",
    ),
)


_EMPTY_LINE = r"(?:(?:\r?\n){2}|(?:\\+r)?\\+n(?:\\+r)?\\+n)"
_USER_LINE = (
    r"(?:\A|[\r\n]|\\n)[ \t+-]{0,24}(?i:user(?:name)?|login)[ \t]*[:=][ \t]*[^\r\n:=]{1,80}"
    r"(?:\r?\n|\\n)[ \t+-]{0,24}"
)
FIELD_RULES = (
    quoted_rule(
        rf"(?i){PASSWORD}\\*\"{_EMPTY_LINE}([^\r\n\\\"]{{3,128}})",
        "A field of a form that a request sends in parts.",
        before=r"(?:\A|[ \t;])name=\\*\"[A-Za-z0-9_.-]{0,30}",
    ),
    word_rule(
        rf"(?i){PASSWORD}[ \t]{{1,40}}{LINE}{LINE_END}",
        "A name with dots and a value without a sign between them, as in properties of Java.",
        before=rf"{LINE_START}[a-z0-9_-]{{1,40}}(?:\.[a-z0-9_-]{{1,40}}){{0,6}}\.",
    ),
    line_rule(
        rf"(?:[Pp]ass|PASS|[Pp]w|PW)[ \t]*[:=][ \t]*{LINE}{LINE_END}",
        "A short name of a password on the line after its user.",
        before=_USER_LINE,
    ),
    quoted_rule(
        r"(?i)(?:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt|encryptbypassphrase)\("
        rf"[^()\r\n]{{1,200}}?,[ \t]*{IN_QUOTES}[ \t]*[,)]",
        "The key of a function of a database that encrypts.",
    ),
    told_rule(
        rf"(?i)(?:{PASSWORD}|pass|pwd?)[ \t]{{1,8}}([^ \t\r\n\"'`\\|<>{{}}()]{{4,128}}){LINE_END}",
        "A name of several words and a value without a sign between them.",
        before=rf"{LINE_START}[a-z0-9]{{1,20}}(?:[._-][a-z0-9]{{1,20}}){{0,4}}[._-]",
    ),
)
