"""Every lake of the settings is opened in one place: it may be in an object store."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OPENED = re.compile(r"\b(?:Lake|LocalFiles)\([\w.]*(?:settings|tables)\.lake\b")


def test_only_the_wiring_opens_the_lake_of_the_settings() -> None:
    modules = [path for name in ("turnetl", "flows") for path in (ROOT / name).rglob("*.py")]
    found = [path for path in modules if _OPENED.search(path.read_text(encoding="utf-8"))]
    assert found == [ROOT / "turnetl" / "wiring" / "tables.py"]
