"""Tokens with a vendor prefix.

The native scanner knows most of the vendors as well. This module lists those whose tokens it
misses, because it requires a checksum, another length or a keyword (tested with random tokens of
each vendor). A pattern has few prefixes: with more than a dozen the search takes ten times as long.
"""

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
        r"[A-Za-z0-9._-]{60,}"
        r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"
        r"|AQE[A-Za-z0-9+/=]{20,200}-[A-Za-z0-9+/]{20,100}=?-[!-~]{8,40}|dG9rO[A-Za-z0-9+/]{40,}=*"
        r"|fm[12]_[A-Za-z0-9+/=_-]{40,})"
    ),
    "uuids after a prefix": (
        r"((?:sdk-|mob-|pat-[en][ua][12]-|access-(?:production|sandbox|development)-|sk-lf-)"
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        r"|api-(?:[01234567][0-9a-f]|[89abcdef][0-9a-f])[0-9a-f]{6}-[0-9a-f]{4}-[0-9a-f]{4}-"
        r"[0-9a-f]{4}-[0-9a-f]{12}"
        r"|st\.(?:[01234567][0-9a-f]|[89abcdef][0-9a-f])[0-9a-f]{6}-[0-9a-f-]{27}\."
        r"[0-9a-f]{32}\.[0-9a-f]{32})"
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
        r"?:live|test)_)"
        r"[A-Za-z0-9_-]{24,})"
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS_BEFORE_IDS = _words(
    "toolu tooluse srvtoolu call msg req resp rs fc chatcmpl cmpl run file asst thread step ses "
    "prt cus price pi ch sub evt seti src acct org user usr member team proj prj item batch vs "
    "gen conv audio img session agent task trace span dpl artifact rec order tx log event job "
    "derived sha sha1 sha256 sha384 sha512 md5 blake2b blake3 commit digest hash rev tree etag "
    "checksum build id ids image layer chunk cache index part page node cursor version snapshot "
    "fixture fuse nonce test tests case pub public publishable anon"
)
"""First or last words of a prefix before an id, a digest, or a value that is published."""
WORDS_BEFORE_HEX = _words("live sk secret token key sign signkey auth private pat priv")
"""Words before hexadecimal digits that follow a dash, as in `signkey-prod-`."""
