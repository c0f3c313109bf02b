"""Rules for names of people in Git's output, and beside an e-mail address."""

from functools import partial

from turnetl.redact.pii.subject import WORD_START, PiiSubject, is_personal_author
from turnetl.redact.rule import SecretRule

_WORD = r"[A-Z\xc3-\xf4][\w\x80-\xff'.-]{0,30}"
_NAME = rf"{_WORD}(?:[ ](?:{_WORD}|van|von|de|der|den|da|di|del|la|le|bin|al|el|zu|ten)){{0,4}}"
_ANY_NAME = r"[\w\x80-\xff][^<>\r\n\"\\|\[\](){}=;:]{0,60}[\w\x80-\xff.]"
_REVERSED_WORD = rb"[\w\x80-\xff'.-]{0,30}[A-Z\xc3-\xf4]"
_REVERSED_NAME = (
    rb"(?:%s(?:[ ](?:%s|nav|nov|ed|red|ned|ad|id|led|al|el)(?![\w\x80-\xff])){0,4})"
    rb"(?=\Z|[^\w\x80-\xff]|[nrt]\\)" % (_REVERSED_WORD, _REVERSED_WORD)
)
_LINE = r"(?:(?m:^)|(?<=\\n))"
_TRAILERS = (
    "Author|Commit|Committer|Tagger|From|Co-authored-by|Co-Authored-By|Co-developed-by|Signed-off-by"
    "|Signed-Off-By|Reviewed-by|Acked-by|Tested-by|Reported-by|Suggested-by|Helped-by|Mentored-by|Cc"
    "|Based-on-patch-by|author|committer|tagger|Maintainer|Packager|Uploader"
)
_HASH = rf"{WORD_START}\^?[0-9a-f]{{7,40}}"
_DATE = r"[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
_AGO = r"[0-9]{1,3}[ ](?:second|minute|hour|day|week|month|year)s?"
_BETWEEN = r"[ ]?[|,;\t][ ]?|[ ]{1,20}"
_QUOTE = r"\\{0,3}[\"']"
_MAIL = r"<[^<>\s@]{1,80}(?:@|\[REDACTED|=40)"
_author = partial(SecretRule, "author", plausible=is_personal_author)

AUTHORS = PiiSubject(
    r"<[^<>\s@]{1,80}(?:@|%40|&#)|&lt;|u003c|(?i:author|committer|tagger|user\.name|user\.email"
    r"|email)|[0-9a-f]{7}.{0,80}(?:[12][0-9]{3}-[01][0-9]-| ago)| ago\) |-by: "
    r"|[12][0-9]{3}-[01][0-9]-[0-3][0-9] "
    r"|real_?name|full_?name|fullName|realName",
    (
        _author(
            rf"(?:\b(?:{_TRAILERS})[:=]?[ \t]{{1,10}})({_ANY_NAME})[ ]{{1,3}}(?:<|&lt;|\\u003c)",
            "In the lines of a commit that name a person.",
        ),
        _author(
            rf"()[ ]{_MAIL}",
            "Before an e-mail address in angle brackets, as in `git log --format='%an <%ae>'`.",
            reversed_prefix=_REVERSED_NAME,
        ),
        _author(
            rf"{_LINE}(?:author|committer|tagger|[ ]{{0,8}}(?:Author|Commit|Committer):)"
            rf"[ ]{{1,8}}({_ANY_NAME})(?:\r?\n|\\n)",
            "In `git blame --porcelain`, and without an address.",
        ),
        _author(
            rf"{_HASH}[ \t]{{1,4}}(?:[\w./-]{{1,120}}[ \t]{{1,20}})?\((?:<\S{{1,80}}>|"
            rf"({_ANY_NAME}))[ \t]{{1,40}}{_DATE}[ T]",
            "In `git blame`.",
        ),
        _author(
            rf"{_HASH}(?:[ ]-[ ]|{_BETWEEN})({_NAME})(?:{_BETWEEN})[(<]?(?:{_DATE}|{_AGO}[ ]ago)",
            "In `git log --format='%h %an %ad'` and its like.",
        ),
        _author(
            rf"{_HASH}(?:{_BETWEEN}){_DATE}(?:[ T][0-9:]{{5,8}}(?:[ ]?[+-][0-9:]{{4,6}}|Z)?)?"
            rf"(?:[ ]?[|,;\t][ ]?)({_NAME})(?:[ ]?[|,;\t])",
            "The same with the date first.",
        ),
        _author(
            rf"{_AGO}[ ]ago\)?(?:[ ]by|[ ]?[|,;\t-])?[ ]?[<(\[]?({_NAME})(?:[>)\]]|[ ]?[|\r\n]|$)",
            "After a relative date.",
        ),
        _author(
            rf"(?:user\.name|GIT_(?:AUTHOR|COMMITTER)_NAME){_QUOTE}?(?:[ ]?=[ ]?|[ ]|:[ ]?)(?:"
            rf"({_NAME})|{_QUOTE}([\w\x80-\xff][^\"'\\\r\n<>$]{{1,60}}[\w\x80-\xff.]))",
            "In Git's settings.",
        ),
        _author(
            rf"\bname{_QUOTE}?[ ]?[:=][ ]?{_QUOTE}?([\w\x80-\xff][^\"'\\\r\n<>=,;:]{{1,60}})"
            rf"(?:{_QUOTE})?,?(?:\s|\\n){{0,20}}{_QUOTE}?e-?mail{_QUOTE}?[ ]?[:=][ ]?{_QUOTE}?"
            r"(?:[\w.+%-]{1,64}(?:@|\\u0040|%40)|\[REDACTED:email:)",
            "Beside the address: in settings of Git and of packages, and in APIs.",
        ),
        _author(
            rf"\b(?:authors|author_?[nN]ame|committer_?[nN]ame|maintainers?){_QUOTE}?[ ]?[:=]"
            rf"[ ]?\[?[ ]?{_QUOTE}({_NAME}[ ]{_WORD})(?={_QUOTE}|[ ][<(])"
            rf"|\bauthor{_QUOTE}?[ ]?[:=][ ]?{_QUOTE}({_NAME}[ ]{_WORD})(?={_QUOTE},?(?:\s"
            rf"|\\n){{1,20}}{_QUOTE}?licen[sc]e)",
            "In the settings of packages: first and last name. Books have authors, too.",
        ),
        _author(
            rf"(?:real_?[nN]ame|full_?[nN]ame|fullName|realName){_QUOTE}?[ ]?[:=][ ]?{_QUOTE}"
            rf"({_NAME}[ ]{_WORD})(?={_QUOTE})",
            "A first and last name in an object.",
        ),
    ),
)
