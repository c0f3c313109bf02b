"""Rules for secrets in tables: in rows, in columns below a header, and in markup.

A row has a name beside its value; a header has the names of columns. Both occur with bars, with
box-drawing characters, with tabulators and with spaces, also in JSON with escaped newlines.
"""

from turnetl.redact import chosen, table_columns
from turnetl.redact.rule import SecretRule
from turnetl.redact.vocabulary import PASSWORD

_BAR = r"(?:[|]|│|║|┃)"
_EMPHASIS = r"[`*\" \t]{0,20}"
_FOREIGN = (
    r"(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha|hasło|пароль|Пароль"
    r"|parola|lösenord|heslo|密码|パスワード|비밀번호)"
)
_NAME = rf"(?:{PASSWORD}|{_FOREIGN}|[_.-]pass|[_.-]pwd?|pwd)"
_PURPOSE = r"(?:[ \t]*\([A-Za-z][^()\r\n|]{1,24}\)|[ _-](?:value|prod|dev|test|staging))?"
_CELL = r"([^|\r\n\t]{3,128}?)"
_NOT_RULER = r"(?:[\r\n]+(?![ \t]*(?:[|+]?[ \t]*[:+-]?-{2}))|$)"
_LINE = r"(?:\A|[\r\n]|\\n|[:,\[][ \t]?\\*\")[ \t>+-]{0,24}"
_HEADER_END = (
    rf"{_PURPOSE}(?:[`*\"'\\ \t]{{0,8}}(?:(?:[,;\t]|[ ]&[ ]|{_BAR}|\\+t)[^\r\n]{{0,300}})?"
    rf"|[ \t]{{2,}}[^\r\n]{{0,200}})(?:\r?\n|\\+n)"
    rf"[^\r\n]{{0,400}}?(?:[,;\t]|{_BAR}|--|──|══|━━|  |\\t)"
)
_END_OF_NAMES = (
    r"\\*[\"'](?:[ \t\r\n]*,[ \t\r\n]*\\*[\"'][^\"'\\\r\n]{0,40}\\*[\"']){0,20}"
    r"[ \t\r\n]*\][ \t\r\n]*,"
    r"[ \t\r\n]*(?:\\*[\"']?[a-zA-Z_]{1,20}\\*[\"']?[ \t]*:[ \t\r\n]*\[)?[ \t\r\n]*(?=\[)"
)
TABLE_RULES = (
    SecretRule(
        "password",
        rf"(?i)(?:{_NAME}{_PURPOSE}{_EMPHASIS}|pass[`*\" \t]{{1,20}}){_BAR}{_EMPHASIS}{_CELL}"
        rf"{_EMPHASIS}{_BAR}"
        rf"[^\r\n]{{0,400}}{_NOT_RULER}",
        "A password in the row of a table.",
        chosen.is_cell,
        locate=table_columns.row_cells,
        before=r"(?<![Bb]y)(?<![Cc]om)(?<![Tt]res)(?<![Ss]ur)(?<![Oo]ver)(?<![Uu]nder)",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:{_NAME}{_PURPOSE}|pass)[`*\"]{{0,3}}"
        rf"(?:[ \t]{{0,40}}(?:{_BAR}|[ \t]{{2}}|\t|\\+t|[ \t]-[ \t]|\.{{2,40}}:?|>{{2,3}}"
        rf"|:{{2}})[`*\" \t]{{0,40}}(?:REG_SZ[ \t]+)?)"
        rf"([^|\r\n\t\\ ]{{3,128}})[`*\" \t]{{0,20}}(?:{_NOT_RULER}|\\+[nrt]|\t|\"[ \t]*[,}}])",
        "A name and a value in a line, in columns.",
        chosen.is_cell,
        before=rf"{_LINE}(?:{_BAR}[ \t]*)?[A-Za-z0-9_.-]{{0,30}}(?: [A-Za-z0-9_.-]{{1,20}})?",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:{PASSWORD}|pass|pwd?|mdp|secret(?=[ _-]value)|{_FOREIGN}){_HEADER_END}",
        "A password in the column of a table.",
        chosen.is_cell,
        locate=table_columns.cells,
    ),
    SecretRule(
        "password",
        rf"(?i)(?:{PASSWORD}|pwd|passwort|senha|api_?key|token|secret){_END_OF_NAMES}",
        "A password or a secret in a column of rows in JSON.",
        chosen.is_chosen,
        locate=table_columns.cells_of_json,
    ),
    SecretRule(
        "password",
        rf"(?i)<th[^<>]{{0,80}}>[ \t\r\n]*(?:<[a-z]{{1,8}}>)?[^<>]{{0,30}}?"
        rf"(?:{PASSWORD}|\bpass|\bpwd?|{_FOREIGN}|secret|token|key)[^<>]{{0,20}}<",
        "A password in the column of a table of HTML.",
        chosen.is_cell,
        locate=table_columns.cells_of_markup,
    ),
    SecretRule(
        "password",
        r"(?i)insert into[ \t\r\n]+[^ \t\r\n(]{1,80}[ \t\r\n]*"
        r"\(([^()\r\n]{1,300})\)[ \t\r\n]*values",
        "A password in a new row of a database.",
        chosen.is_chosen,
        locate=table_columns.inserted_values,
    ),
    SecretRule(
        "secret-value",
        rf"(?i)(?:secret(?:[ _-]access)?(?:[ _-]key)?|api[ _-]?key|token){_HEADER_END}",
        "A secret in the column of a table.",
        chosen.is_drawn_cell,
        locate=table_columns.cells,
    ),
    SecretRule(
        "password",
        rf"(?i){PASSWORD}:[ \t]+([^|\r\n]{{3,128}}?)[ \t]*\|",
        "A password in the cell of a table, with its name.",
        chosen.is_chosen_line,
    ),
    SecretRule(
        "password",
        r"(?i)(?:user(?:name)?|login|e-?mail|host|role)[ \t](?:password|passwd|pwd?|pass)[ \t]*"
        r"(?:\r?\n|\\n)"
        r"[ \t]*[^ \t\r\n]{1,80}[ \t]+[^ \t\r\n]",
        "A password in the last of the columns that single spaces separate.",
        chosen.is_cell,
        locate=table_columns.cells,
    ),
)
