# ruff: noqa: RUF001 - letters of many languages, all intended
"""Words without information of their own, in the languages in which users write to agents.

All patterns are regular expressions for a whole prompt as it was typed. They ignore case, and treat
all punctuation between words alike: `OK, go on!` is `ok go on`.
"""

_YES = """
    ok okay okey oke okej okee k kk y yes yep yeah yup ya sure fine good great perfect nice cool
    excellent awesome amazing wonderful brilliant lovely beautiful super thanks thank thx ty cheers
    done right agreed approved lgtm understood interesting
    continue proceed go resume next please

    ja jo jep jup klar gut passt prima danke vielen weiter fortfahren genau mach bitte gerne stimmt
    oui merci parfait continuez continuer vas allez accord bien
    si sí vale claro bueno gracias muchas perfecto genial sigue seguir continua continúa continuar
    adelante vamos dale
    sim certo obrigado obrigada beleza perfeito prossiga continuem
    grazie avanti perfetto procedi
    goed dank bedankt verder doorgaan graag prima
    tack fortsätt takk fortsett fortsæt bra kiitos jatka joo
    tak dobrze dzięki dziękuję kontynuuj dalej świetnie ano díky děkuji pokračuj
    da mulțumesc igen köszönöm folytasd
    да ок хорошо спасибо продолжай продолжить продолжи дальше верно отлично понял
    так добре дякую продовжуй далі
    ναι ευχαριστώ συνέχισε εντάξει
    tamam evet devam teşekkürler
    نعم شكرا تابع استمر حسنا تمام אוקיי כן תודה המשך בסדר
    हाँ ठीक धन्यवाद जारी
    vâng được oke lanjut lanjutkan terima kasih
    네 예 계속 계속해 계속해줘 좋아 좋아요 감사합니다 고마워 확인
"""
"""Each means yes, thank you or go on."""

_FILLERS = """
    ahead and be do for help helpful info information is it let me much my now oh on s so that
    the then think this to very we with wow you your
    aber das die dir doch es für hilfe ist mal schon sehr so und dann jetzt
    beaucoup ça est pour très
    eso es por ayuda muy bem muito isso bene va molto tante
    пожалуйста за помощь большое bardzo proszę रखें है
"""
"""Words allowed beside them. None selects an option, as in `yes, all` or `ok, a`."""

_YES_PHRASES = (
    "no thanks|no thank you|nein danke|non merci|no gracias|nee dank|tiếp tục|cảm ơn|d accord"
    "|all good|a lot|that s (?:correct|all)|that is (?:correct|all)|all i needed|i see|i think so"
    "|thanks for everything|danke für alles|merci pour tout|gracias por todo|c est bon"
)
"""A bare `no` is a decision and not among them."""

_UNSPACED = """
    好 好的 好吧 好啊 继续 繼續 继续吧 是 是的 可以 可以的 谢谢 謝謝 谢谢你 行 嗯 对 對 没问题
    沒問題 同意 明白 了解 收到 很好 太好了 请继续 請繼續 不用了 请 吧
    はい 続けて 続けてください お願いします よろしく ありがとう ありがとうございます 了解 了解です
    わかりました いいね 大丈夫 大丈夫です ええ うん
"""
"""Words of scripts without spaces between words."""


_SEPARATOR = (
    r"[\x00-/:-@\[-`{-\x{BF}\x{60C}\x{61F}\x{964}\x{2000}-\x{2BFF}\x{3000}-\x{303F}"
    r"\x{FE00}-\x{FE0F}\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF20}\x{1F000}-\x{1FAFF}]"
)
"""One character between words: space, punctuation or emoji. A class of everything that is no letter
would match the same, but makes patterns a thousand times as large."""


def _any_of(*lists: str) -> str:
    """Return the alternatives of a pattern: the words of all lists, each before its prefixes."""
    return "|".join(sorted({word for words in lists for word in words.split()}, reverse=True))


def _separated(phrases: str) -> str:
    return phrases.replace(" ", f"{_SEPARATOR}+")


def _only(plain: str, unspaced: str) -> str:
    """Return a pattern that matches a text of these words and no others."""
    return rf"(?i)^{_SEPARATOR}*(?:(?:{plain})(?:{_SEPARATOR}+|$)|(?:{unspaced}){_SEPARATOR}*)+$"


def _contains(plain: str, unspaced: str) -> str:
    """Return a pattern that matches a text that contains one of these words."""
    return rf"(?i)(?:^|{_SEPARATOR})(?:{plain})(?:{_SEPARATOR}|$)|{unspaced}"


_PHRASES = _separated(_YES_PHRASES)
ACKNOWLEDGEMENT_ONLY = _only(f"{_PHRASES}|{_any_of(_YES, _FILLERS)}", _any_of(_UNSPACED))
AFFIRMATION = _contains(f"{_PHRASES}|{_any_of(_YES)}", _any_of(_UNSPACED))
"""Together with `ACKNOWLEDGEMENT_ONLY`: a yes, a thank you or a go on, and nothing else."""

_GREETING_PHRASES = _separated(
    "good (?:morning|evening|afternoon|night|day)|have a (?:nice|great|good) (?:day|evening|one)"
    "|what (?:is|s) up|see you(?: later)?|guten (?:morgen|tag|abend)"
    "|buen[oa]s (?:d[ií]as|tardes|noches)"
    "|au revoir|bom dia"
)
_GREETINGS = """
    hi hello hey hiya howdy greetings bye goodbye byebye cya test testing
    hallo moin servus tschüss ciao salut bonjour bonsoir hola adios adiós olá tchau buongiorno
    arrivederci doei hej hejdå cześć ahoj привет здравствуйте пока привіт merhaba مرحبا שלום नमस्ते
    안녕 안녕하세요
"""
_ADDRESSEES = "there all everyone claude gemini codex chatgpt gpt again now then da"
_UNSPACED_GREETINGS = (
    "你好 您好 嗨 再见 再見 早上好 晚上好 こんにちは こんばんは おはよう さようなら 测试"
)
GREETING_ONLY = _only(
    f"{_GREETING_PHRASES}|{_any_of(_GREETINGS, _ADDRESSEES)}", _any_of(_UNSPACED_GREETINGS)
)
GREETING_PHRASE = _contains(
    f"{_GREETING_PHRASES}|{_any_of(_GREETINGS)}", _any_of(_UNSPACED_GREETINGS)
)
"""Together with `GREETING_ONLY`: a hello or a goodbye, and nothing else."""

QUESTION_MARK = r"[?\x{FF1F}]"
NO_LETTERS = r"^[^\p{L}\p{N}?\x{FF1F}]+$"
"""A thumbs-up, a dot, a row of punctuation; but no question mark, which asks something."""

_DECISION_WORDS = """
    no nope nah not never always only just use keep leave skip instead rather wait stop actually
    yes yeah nein nicht nur ja nimm statt non oui pas sí si não sim nee нет да не так ні tak nie nej
    hayır evet
"""
DECISION = _separated(
    rf"(?i)^(?:{_any_of(_DECISION_WORDS)}|don t|do not|let s|i want|i prefer|i d prefer|we ll"
    r"|make sure) \S"
    r"|\b(?:instead|rather than|statt|stattdessen|plutôt|вместо)\b"
    r"|^(?:不|别|別|いいえ|아니)\S"
)
"""A prompt that answers, forbids or chooses: `no, use postgres`."""

_UNSPACED_SCRIPT = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
WORD = rf"[{_UNSPACED_SCRIPT}]{{1,2}}|[^\s{_UNSPACED_SCRIPT}]+"
"""Matches once per word; in scripts without spaces between words, two letters count as one word."""
