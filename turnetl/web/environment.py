"""Where the templates of the pages are."""

from jinja2 import PackageLoader

LOADER = PackageLoader("turnetl.web")
