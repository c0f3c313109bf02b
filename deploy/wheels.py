"""Write the wheels of each package of a lock as a table: package, version, sdist, tags.

python deploy/wheels.py build/pylock.toml > deploy/wheels.tsv

A tag is kept if a supported platform may install it: CPython, Linux with glibc on x86-64 and ARM,
macOS on ARM, Windows on x86-64. The old names of manylinux are replaced by those with the version
of glibc. `make lock` calls it; tests/deploy/test_wheels.py computes what the wheels cover.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

COLUMNS = ("package", "version", "sdist", "tags")
OLD_NAMES = {"manylinux1": "2_5", "manylinux2010": "2_12", "manylinux2014": "2_17"}
SUPPORTED = re.compile(
    r"(py3\d*-none|cp3\d+-abi3|cp31[1-9]-(cp31[1-9]|none))"
    r"-(any|manylinux_2_\d+_(x86_64|aarch64)|macosx_\d+_\d+_(arm64|universal2)|win_amd64)"
)


def rows(packages: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each package of a `pylock.toml`; `sdist` is yes or no."""
    for package in packages:
        tags = {
            _with_glibc(tag)
            for wheel in package.get("wheels", ())
            for tag in parse_wheel_filename(_file_name(wheel["url"]))[3]
        }
        kept = sorted(filter(SUPPORTED.fullmatch, map(str, tags)))
        sdist = "yes" if "sdist" in package else "no"
        yield package["name"], package["version"], sdist, " ".join(kept)


def _file_name(url: str) -> str:
    return unquote(PurePosixPath(urlsplit(url).path).name)


def _with_glibc(tag: Tag) -> Tag:
    name, _, machine = tag.platform.partition("_")
    if name not in OLD_NAMES:
        return tag
    return Tag(tag.interpreter, tag.abi, f"manylinux_{OLD_NAMES[name]}_{machine}")


if __name__ == "__main__":
    lock = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for row in (COLUMNS, *sorted(rows(lock["packages"]))):
        print("\t".join(row))
