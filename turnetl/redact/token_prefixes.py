"""Tokens that say themselves what they are: by the prefixes of their makers.

The native scanner knows most of the makers, too; here stand those whose tokens it lets pass, as it
wants a checksum, another length or a word beside them (tried with random ones of each). A pattern
has few prefixes: beyond a dozen the search for them takes ten times as long.
"""

_REST = r"[A-Za-z0-9_-]{20,}"

PATTERNS = {
    "where code is kept": (
        r"((?:gh[oprsu]_|github_pat_|glpat-|gldt-|glrt-|glptt-|xox[abeoprs]-|xapp-|npm_|pypi-"
        rf"|rubygems_){_REST})"
    ),
    "where money is taken": (
        r"((?:[rs]k_(?:live|test)_|rzp_(?:live|test)_|whsec_|shp(?:at|ss|ca|pa)_|sq0[a-z]{3}-"
        rf"|do[por]_v1_){_REST}|rzp_(?:live|test)_[A-Za-z0-9]{{14}})"
    ),
    "where models are served": (
        r"((?:gsk_|xai-|r8_|pplx-|nvapi-|tvly-|pcsk_|lsv2_[a-z]{2}_|e2b_|crsr_|phx_)"
        rf"{_REST})"
    ),
    "where programs run": (
        r"((?:GOCSPX-|hv[sbr]\.|sb_secret_|sbp_|vcp_|nfp_|fo1_|fm[12]_|tskey-|pscale_[a-z]{2,5}_)"
        rf"{_REST})"
    ),
    "where programs are built": (
        r"((?:dckr_[op]at_|dapi|ops_eyJ|dp\.[a-z]{2}\.|HRKU-|CCIPAT_|bkua_|ATBB|ATATT|pul-|pn[bu]_)"
        rf"{_REST})"
    ),
    "where work is planned": (
        rf"((?:lin_api_|lin_oauth_|ntn_|figd_|CFPAT-|tfp_|PMAK-|xkeysib-|AGE-SECRET-KEY-1){_REST}"
        r"|secret_[A-Za-z0-9]{43})"
    ),
    "where programs are watched": (
        rf"((?:sntrys_|sntryu_|glsa_|glc_|NRAK-|sqp_|squ_|sqa_|sgp_|SG\.){_REST})"
    ),
    "of a length": (
        r"(ya29\.[A-Za-z0-9_-]{40,}|1//0[A-Za-z0-9_-]{40,}|sl\.[A-Za-z0-9_-]{100,}"
        r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|sk_[0-9a-f]{48}|fc-[0-9a-f]{32}|key-[0-9a-f]{32}"
        r"|[ps]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}|APA91b[A-Za-z0-9_-]{100,})"
    ),
    "of a length, without a mark": (
        r"(LTAI[A-Za-z0-9]{20}|AKID[A-Za-z0-9]{32}|AKCp[A-Za-z0-9]{60,}|oy2[a-z0-9]{43}"
        r"|cio[A-Za-z0-9]{32}|EAA[A-Za-z0-9]{60,}|a[ks]-[A-Za-z0-9]{22})(?:[^A-Za-z0-9+/]|$)"
    ),
}
"""By what the tokens open; of each the whole token is the group."""
