"""Tokens of issuers: with a vendor prefix, or drawn characters that no other rule knows.

The native scanner knows most of the vendors. `PATTERNS` has those whose tokens it misses, because
it requires a checksum, another length or a keyword (tested with random tokens of each vendor). A
pattern has few prefixes: with more than a dozen the search takes ten times as long.

Digests, uuids, ids and names differ from drawn tokens: a single case without a prefix, only
hexadecimal digits, long pieces of one kind of character, or a start that is known.
"""

import re
from collections.abc import Iterable, Iterator

from turnetl.redact import plausible
from turnetl.redact.key_rules import is_middle
from turnetl.redact.rule import SecretRule, late_pattern
from turnetl.redact.vocabulary import words

_REST = r"[A-Za-z0-9_-]{20,}"

PATTERNS = {
    "code hosting": (
        r"((?:gh[oprsu]_|github_pat_|glpat-|gldt-|glrt-|glptt-|xox[abeoprs]-|xapp-|npm_|pypi-"
        rf"|rubygems_){_REST})"
    ),
    "more code hosting": (
        r"((?:gto_|ATCTT3|glcbt-|glagent-|gloas-|glft-|glimt-|glsoat-|glffct-|CLOJARS_"
        r"|cmVmd)[A-Za-z0-9_=-]{20,})"
    ),
    "payments": (
        r"((?:[rs]k_(?:live|test)_|rzp_(?:live|test)_|whsec_|shp(?:at|ss|ca|pa)_|sq0[a-z]{3}-"
        rf"|do[por]_v1_){_REST}|rzp_(?:live|test)_[A-Za-z0-9]{{14}})"
    ),
    "model APIs": (
        r"((?:gsk_|xai-|r8_|pplx-|nvapi-|tvly-|pcsk_|lsv2_[a-z]{2}_|e2b_|crsr_|phx_)"
        rf"{_REST})"
    ),
    "more model APIs": (
        r"((?:jina_|wandb_v1_|esecret_|fw_|pa-|nsec1|ddp_|vtwn_|apify_api_|csk-)[A-Za-z0-9_-]{20,})"
    ),
    "cloud platforms": (
        r"((?:GOCSPX-|hv[sbr]\.|sb_secret_|sbp_|vcp_|nfp_|fo1_|fm[12]_|tskey-|pscale_[a-z]{2,5}_)"
        rf"{_REST})"
    ),
    "more cloud platforms": (
        r"((?:AVNS_|BBFF-|AQVN|ABSK|rnd_|napi_|dnkey-|FLWSECK)[A-Za-z0-9+/=_-]{16,})"
    ),
    "dates and ids of their issuer": (
        r"(v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|[12]/1[0-9]{15}(?:/[0-9]{16})?:[0-9a-f]{32}"
        r"|pk_[0-9]{6,9}_[A-Z0-9]{32}|00D[A-Za-z0-9]{9,15}!(?:AQ)?[A-Za-z0-9._]{60,}|3MVG9"
        r"[A-Za-z0-9._-]{60,}|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"
        r"|AQE[A-Za-z0-9+/=]{20,200}-[A-Za-z0-9+/]{20,100}=?-[!-~]{8,40}|dG9rO[A-Za-z0-9+/]{40,}=*"
        r"|fm[12]_[A-Za-z0-9+/=_-]{40,})"
    ),
    "uuids after a prefix": (
        r"((?:sdk-|mob-|pat-[en][ua][12]-|access-(?:production|sandbox|development)-|sk-lf-)"
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        r"|api-(?:[01234567][0-9a-f]|[89abcdef][0-9a-f])[0-9a-f]{6}-[0-9a-f]{4}-[0-9a-f]{4}-"
        r"[0-9a-f]{4}-[0-9a-f]{12}|st\.(?:[01234567][0-9a-f]|[89abcdef][0-9a-f])"
        r"[0-9a-f]{6}-[0-9a-f-]{27}\.[0-9a-f]{32}\.[0-9a-f]{32})"
    ),
    "build and deployment": (
        r"((?:dckr_[op]at_|dapi|ops_eyJ|dp\.[a-z]{2}\.|HRKU-|CCIPAT_|bkua_|ATBB|ATATT|pul-|pn[bu]_)"
        rf"{_REST})"
    ),
    "databases": r"(AstraCS:[A-Za-z0-9]{20,}:[0-9a-f]{64})",
    "planning and design": (
        rf"((?:lin_api_|lin_oauth_|ntn_|figd_|CFPAT-|tfp_|PMAK-|xkeysib-|AGE-SECRET-KEY-1){_REST}"
        r"|secret_[A-Za-z0-9]{43})"
    ),
    "more planning and mail": (
        r"((?:figo_|figu_|sct_r[wo]_|xsmtpsib-|mlsn\.|rdme_|zpka_|mka_|sk_sbox_|shippo_("
        r"?:live|test)_)[A-Za-z0-9_-]{24,})"
    ),
    "prefixes that other prefixes end with": r"(?:\A|[^A-Za-z0-9_])(live_[A-Za-z0-9_-]{24,})",
    "more monitoring": (
        r"((?:NRII-|configcat-sdk-1/|snyk_(?:uat|sat)\.|glc_eyJ|sntrys_eyJ|xprv|API-"
        r"[A-Z0-9]{4})[A-Za-z0-9_.+/=-]{24,})"
    ),
    "monitoring": (rf"((?:sntrys_|sntryu_|glsa_|glc_|NRAK-|sqp_|squ_|sqa_|sgp_|SG\.){_REST})"),
    "fixed lengths": (
        r"(ya29\.[A-Za-z0-9_-]{40,}|1//0[A-Za-z0-9_-]{40,}|sl\.[A-Za-z0-9_-]{100,}"
        r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|sk_[0-9a-f]{48}|fc-[0-9a-f]{32}|key-[0-9a-f]{32}"
        r"|[ps]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}|APA91b[A-Za-z0-9_-]{100,})"
    ),
    "fixed lengths without a separator": (
        r"(LTAI[A-Za-z0-9]{20}|AKID[A-Za-z0-9]{32}|AKCp[A-Za-z0-9]{60,}|oy2[a-z0-9]{43}"
        r"|cio[A-Za-z0-9]{32}|EAA[A-Za-z0-9_-]{60,}|a[ks]-[A-Za-z0-9]{22})(?:[^A-Za-z0-9+/]|$)"
    ),
}
"""By the kind of service that the tokens give access to. The group is the whole token."""


WORDS_BEFORE_IDS = words(
    "toolu tooluse srvtoolu call msg req resp rs fc chatcmpl cmpl run file asst thread step ses "
    "prt cus price pi ch sub evt seti src acct org user usr member team proj prj item batch vs "
    "gen conv audio img session agent task trace span dpl artifact rec order tx log event job "
    "derived sha sha1 sha256 sha384 sha512 md5 blake2b blake3 commit digest hash rev tree etag "
    "checksum build id ids image layer chunk cache index part page node cursor version snapshot "
    "fixture fuse nonce test tests case pub public publishable anon"
)
"""First or last words of a prefix before an id, a digest, or a value that is published."""
WORDS_BEFORE_HEX = words("live sk secret token key sign signkey auth private pat priv")
"""Words before hexadecimal digits that follow a dash, as in `signkey-prod-`."""


_RUN = r"[A-Za-z0-9+/_-]{16,}"
_MAX_CHARS = 200
"""Characters of a token: a longer run is data in base64."""
_MIN_TAIL, _MIN_ANNOUNCED, _MIN_BARE = 16, 20, 30
"""Characters of both cases: after a prefix, after a sign such as `:`, and alone."""
_MIN_ONE_CASE, _MIN_HEX = 24, 32
_MIN_KEY_LINE, _MAX_KEY_LINE = 64, 70
_MAX_LINE = 400
"""Bytes of a line with a token and what precedes it."""
_MAX_PIECE, _MAX_LOWER_PIECE, _MAX_UPPER_PIECE = 2.75, 4.5, 6.5
"""Characters of one kind in a row, on average. Drawn values of both cases have 1.9, of lower case
2.4, of upper case 3; names in code have more than 3, 5 and 8."""
_MIN_PART = 8
"""Characters between dashes, on average: a name has more dashes, a drawn value hardly any."""
_MIN_DIGITS = 3
"""Digits in a value of one case."""
_PREFIX = late_pattern(r"(?:(?:[a-z]{1,10}[0-9]{0,2}|[A-Z]{2,10}|[0-9]{1,2})[_+-]){1,4}")
_PUBLISHED = ("pk_live_", "pk_test_")
_KNOWN_STARTS = late_pattern(
    r"kwDO|eyJ|iVBORw0KGgo|R0lGOD|/9j/|JVBERi|UEsDB|H4sI|AAAA[A-E][A-Z0-9]|MI[IGHE][A-Za-z0-9]"
    r"|_Z|0x[0-9a-fA-F]{40}\Z|sha[0-9]{1,3}-|Qm[1-9A-HJ-NP-Za-km-z]{44}\Z"
)
"""Ids of GitHub, data in base64, public keys, certificates, linkers' names, addresses, digests."""
_CONTEXT = 40
_NOT_BEFORE = late_pattern(
    rb"(?:[%@/]|==|[?&](?:id|v|list|page|cursor|ref|(?:g|fb|ms)clk?id)=|\\(?![nrt])"
    rb"|(?i:sha)[0-9]{1,3}[-=:]|h1:|base64,"
    rb"|(?i:public_?key)[\"']?[ \t]*[:=][ \t]*[\"']?"
    rb"|verification[=:]|ip[fn]s:|(?:\x1b|1[bB]|033|\\e)\[[0-9;]{0,8})\Z"
)
"""What precedes no token: an escape, a path, an id in a URL, a digest, data, a colour."""
_ANNOUNCED = late_pattern(rb"[A-Za-z0-9][:~|+]\Z")
_ISSUED = late_pattern(rb"[A-Za-z0-9][:~|+.]\Z")
"""Signs that join a prefix to a token; a full stop also joins names in code."""
_ANY = b"x:"
"""Stands for text that allows every token after it."""
_SUFFIX = late_pattern(rb"\.[a-z][a-z0-9]{1,4}(?![A-Za-z0-9_-])")
"""The end of a file's name."""
_DIFF_MARKS = (b"+", b"-")
_ESCAPES = (rb"\n", rb"\r", rb"\t")
_MORE = late_pattern(rb"(?:[:.][A-Za-z0-9_-]{16,128})*(?:={1,2}(?![0-9A-F]{2}))?")
_LINE_OF_BLOCK = late_pattern(rb"[A-Za-z0-9+/=_-]{40}|-----")
_PIECES = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ORDINARY = late_pattern(r"[^0-9]+|[0-9a-f-]+")
"""Words, digests and uuids."""
_HEX = late_pattern(r"[0-9a-f]+|[0-9A-F]+")
_PATH = late_pattern(r"(?:\A|/)[a-z]{3,}/|/[a-z]{3,}(?:/|\Z)")


def places_of_runs(data: bytes) -> Iterable[tuple[int, int]]:
    """Return start and end of each run of characters that may be a token."""
    from turnetl.redact.character_runs import runs_with_digits  # noqa: PLC0415 - only with a text

    return runs_with_digits(data, _MIN_TAIL, _MAX_CHARS + 1)


def may_be_token(run: str) -> bool:
    if len(run) > _MAX_CHARS + 1 or _ORDINARY.fullmatch(run):
        return False
    if _is_token(run.lstrip("+-"), _ANY):
        return True
    is_after_escape = run[0] in "nrt"
    return is_after_escape and _is_token(run[1:].lstrip("+-"), _ANY)


def tokens(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    start, end = _start_of_value(data, match.start()), match.end()
    before, run = data[max(0, start - _CONTEXT) : start], data[start:end].decode()
    if _is_token(run, before) and not _is_ordinary_place(data, start, end, before):
        more = _MORE.match(data, end)
        yield start, more.end() if more is not None else end
    elif len(run) >= _MIN_KEY_LINE and _is_in_block(data, start, end) and is_middle(data, end):
        yield max(start, end - _MAX_KEY_LINE), end


def _start_of_value(data: bytes, start: int) -> int:
    """Return the start after the letter of an escaped newline, and the mark of a line of a diff."""
    is_escaped = data[start - 1 : start + 1] in _ESCAPES
    start += is_escaped
    starts_line = is_escaped or start == 0 or data[start - 1 : start] == b"\n"
    return start + (starts_line and data[start : start + 1] in _DIFF_MARKS)


def _is_ordinary_place(data: bytes, start: int, end: int, before: bytes) -> bool:
    """Return whether a digest, a file's name, an escape or data in base64 stands here."""
    is_encoded = before.endswith(b"=") and data.startswith(b"3D", start)
    is_file = _SUFFIX.match(data, end) is not None
    is_after_data = _NOT_BEFORE.search(before) is not None
    return is_encoded or is_file or is_after_data or _is_in_block(data, start, end)


def is_drawn_key(value: str) -> bool:
    """Return whether the value of a key with any name was drawn from letters of both cases."""
    return _has_both_cases(value) and _is_drawn(value, _MAX_PIECE) and _is_real(value)


def _is_token(run: str, before: bytes) -> bool:
    prefix = _PREFIX.match(run)
    if len(run) > _MAX_CHARS or _PATH.search(run) or run.startswith(_PUBLISHED):
        return False
    if prefix is None:
        return not _KNOWN_STARTS.match(run) and _is_drawn_alone(run, before)
    words = re.split("[_+-]", prefix[0])[:-1]
    if not WORDS_BEFORE_IDS.isdisjoint({words[0], words[-1]}):
        return False
    tail = run[prefix.end() :]
    return not _KNOWN_STARTS.match(tail) and _is_drawn_tail(tail, prefix[0], words)


def _is_drawn_alone(run: str, before: bytes) -> bool:
    if _has_both_cases(run):
        min_chars = _MIN_ANNOUNCED if _ANNOUNCED.search(before) else _MIN_BARE
        return len(run) >= min_chars and _is_drawn(run, _MAX_PIECE)
    return _ISSUED.search(before) is not None and _is_drawn_in_one_case(run)


def _is_drawn_tail(tail: str, prefix: str, words: list[str]) -> bool:
    if _HEX.fullmatch(tail):
        is_long = len(tail) >= _MIN_HEX and _is_drawn(tail, _MAX_LOWER_PIECE)
        is_joined = prefix.endswith("_") and prefix.islower()
        return is_long and (is_joined or not WORDS_BEFORE_HEX.isdisjoint(words))
    if _has_both_cases(tail):
        return len(tail) >= _MIN_TAIL and _is_drawn(tail, _MAX_PIECE)
    return _is_drawn_in_one_case(tail)


def _is_drawn_in_one_case(value: str) -> bool:
    max_piece = _MAX_LOWER_PIECE if value.islower() else _MAX_UPPER_PIECE
    is_long = len(value) >= _MIN_ONE_CASE and sum(map(str.isdigit, value)) >= _MIN_DIGITS
    return is_long and not _HEX.fullmatch(value) and value.isalnum() and _is_drawn(value, max_piece)


def _has_both_cases(value: str) -> bool:
    return not value.islower() and not value.isupper()


def _is_drawn(value: str, max_piece: float) -> bool:
    letters = re.sub("[^A-Za-z0-9]", "", value)
    has_digits = any(map(str.isdigit, value))
    parts = re.split("[_/-]", value)
    are_parts_long = len(value) >= _MIN_PART * len(parts)
    is_digest = len(parts) > 1 and _HEX.fullmatch(max(parts, key=len))
    has_short_pieces = len(letters) < max_piece * len(_PIECES.findall(value))
    return has_digits and are_parts_long and has_short_pieces and not is_digest


def _is_in_block(data: bytes, start: int, end: int) -> bool:
    """Return whether the line before or after has many such characters too: wrapped base64."""
    line_start = max(0, data.rfind(b"\n", max(0, start - _MAX_LINE), start))
    line_end = data.find(b"\n", end, end + _MAX_LINE)
    before = data[max(0, line_start - _MAX_LINE) : line_start].split(b"\n")[-2:]
    after = data[line_end + 1 : line_end + _MAX_LINE].split(b"\n")[:2] if line_end > 0 else []
    return any(map(_LINE_OF_BLOCK.search, (*before, *after)))


def _is_real(value: str) -> bool:
    return not plausible.is_placeholder(value)


TOKEN_RULES = (
    SecretRule(
        "token",
        _RUN,
        "A token of an issuer that no other rule knows.",
        _is_real,
        locate=tokens,
        may_be_secret=may_be_token,
        places=places_of_runs,
    ),
)
