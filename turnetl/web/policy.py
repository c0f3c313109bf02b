"""What a page may load and run: its own style sheet and the one script of this server."""

from jinja2 import PackageLoader

from turnetl.html.pages import content_security_policy

DIRECTIVES = {
    "script-src": "'self'",
    # The script reads pages of this server when a filter changes.
    "connect-src": "'self'",
    "form-action": "'self'",
}
"""Beside those of every page of `turnetl.html`."""

HEADERS = {
    # Browsers ignore `frame-ancestors` in a page.
    "Content-Security-Policy": f"{content_security_policy(DIRECTIVES)}; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every response. No header lets another origin read anything (CORS)."""

LOADER = PackageLoader("turnetl.web")
