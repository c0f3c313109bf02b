# ruff: noqa: RUF001 - letters of many languages, none of them there by mistake
"""Words that say nothing by themselves, in the languages in which people talk to agents.

All patterns are regular expressions for a whole prompt as it was typed: upper and lower case are
the same, and so is any sign between words. `OK, go on!` is `ok go on`.
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
"""Each says yes, thank you or go on."""

_FILL = """
    ahead and be do for help helpful info information is it let me much my now oh on s so that
    the then think this to very we with wow you your
    aber das die dir doch es für hilfe ist mal schon sehr so und dann jetzt
    beaucoup ça est pour très
    eso es por ayuda muy bem muito isso bene va molto tante
    пожалуйста за помощь большое bardzo proszę रखें है
"""
"""May stand beside them. No word that chooses: `yes, all` and `ok, a` do."""

_YES_IN_WORDS = (
    "no thanks|no thank you|nein danke|non merci|no gracias|nee dank|tiếp tục|cảm ơn|d accord"
    "|all good|a lot|that s (?:correct|all)|that is (?:correct|all)|all i needed|i see|i think so"
    "|thanks for everything|danke für alles|merci pour tout|gracias por todo|c est bon"
)
"""A bare `no` decides something and is none of them."""

_UNSPACED = """
    好 好的 好吧 好啊 继续 繼續 继续吧 是 是的 可以 可以的 谢谢 謝謝 谢谢你 行 嗯 对 對 没问题
    沒問題 同意 明白 了解 收到 很好 太好了 请继续 請繼續 不用了 请 吧
    はい 続けて 続けてください お願いします よろしく ありがとう ありがとうございます 了解 了解です
    わかりました いいね 大丈夫 大丈夫です ええ うん
"""
"""Of scripts that set no blanks between words."""


_SIGN = (
    r"[\x00-/:-@\[-`{-\x{BF}\x{60C}\x{61F}\x{964}\x{2000}-\x{2BFF}\x{3000}-\x{303F}"
    r"\x{FE00}-\x{FE0F}\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF20}\x{1F000}-\x{1FAFF}]"
)
"""What stands between words: blanks, marks, pictures. All that is no letter would be the same and
make patterns a thousand times as large."""


def _any(*words: str) -> str:
    return "|".join(sorted({word for part in words for word in part.split()}, reverse=True))


def _spelled(phrases: str) -> str:
    return phrases.replace(" ", f"{_SIGN}+")


def _together(plain: str, unspaced: str) -> str:
    """Return the pattern of a text of these words and no others."""
    return rf"(?i)^{_SIGN}*(?:(?:{plain})(?:{_SIGN}+|$)|(?:{unspaced}){_SIGN}*)+$"


def _among(plain: str, unspaced: str) -> str:
    """Return the pattern of a text with one of these words in it."""
    return rf"(?i)(?:^|{_SIGN})(?:{plain})(?:{_SIGN}|$)|{unspaced}"


_PHRASES = _spelled(_YES_IN_WORDS)
ACKNOWLEDGEMENT_ONLY = _together(f"{_PHRASES}|{_any(_YES, _FILL)}", _any(_UNSPACED))
AFFIRMATION = _among(f"{_PHRASES}|{_any(_YES)}", _any(_UNSPACED))
"""With ACKNOWLEDGED: a yes, a thank you or a go on, and nothing else."""

_HELLOS = _spelled(
    "good (?:morning|evening|afternoon|night|day)|have a (?:nice|great|good) (?:day|evening|one)"
    "|what (?:is|s) up|see you(?: later)?|guten (?:morgen|tag|abend)"
    "|buen[oa]s (?:d[ií]as|tardes|noches)"
    "|au revoir|bom dia"
)
_HELLO = """
    hi hello hey hiya howdy greetings bye goodbye byebye cya test testing
    hallo moin servus tschüss ciao salut bonjour bonsoir hola adios adiós olá tchau buongiorno
    arrivederci doei hej hejdå cześć ahoj привет здравствуйте пока привіт merhaba مرحبا שלום नमस्ते
    안녕 안녕하세요
"""
_TO_WHOM = "there all everyone claude gemini codex chatgpt gpt again now then da"
_UNSPACED_HELLO = (
    "你好 您好 嗨 再见 再見 早上好 晚上好 こんにちは こんばんは おはよう さようなら 测试"
)
GREETING_ONLY = _together(f"{_HELLOS}|{_any(_HELLO, _TO_WHOM)}", _any(_UNSPACED_HELLO))
GREETING_PHRASE = _among(f"{_HELLOS}|{_any(_HELLO)}", _any(_UNSPACED_HELLO))
"""With GREETING: a hello or a goodbye, and nothing else."""

QUESTION_MARK = r"[?\x{FF1F}]"
NO_LETTERS = r"^[^\p{L}\p{N}?\x{FF1F}]+$"
"""A thumb, a dot, a row of marks; a question mark asks something."""

_CHOICES = """
    no nope nah not never always only just use keep leave skip instead rather wait stop actually
    yes yeah nein nicht nur ja nimm statt non oui pas sí si não sim nee нет да не так ні tak nie nej
    hayır evet
"""
DECISION = _spelled(
    rf"(?i)^(?:{_any(_CHOICES)}|don t|do not|let s|i want|i prefer|i d prefer|we ll|make sure) \S"
    r"|\b(?:instead|rather than|statt|stattdessen|plutôt|вместо)\b"
    r"|^(?:不|别|別|いいえ|아니)\S"
)
"""The words of a person who answers, forbids or chooses: `no, use postgres`."""

_UNSPACED_LETTER = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
WORD = rf"[{_UNSPACED_LETTER}]{{1,2}}|[^\s{_UNSPACED_LETTER}]+"
"""One match a word; of scripts without blanks two letters are one."""
