"""From archives of all formats to the lake and its episodes: no written byte names a person."""

from functools import partial
from pathlib import Path

import pytest

from benchmarks.redaction.canaries import Canary
from benchmarks.redaction.personal import personal_canaries
from tests.redact.secret_archives import ARCHIVES, SecretSource
from tests.redact.test_no_leaks_in_lake import GROUP, written
from turnetl import episodes, parsing
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

RECOGNISED_ALONE = frozenset({"e-mail address", "IPv4", "IPv6", "MAC", "SSN", "CPF", "phone"})
"""Kinds that are recognised by themselves, whatever stands around them."""


@pytest.mark.parametrize("name", ARCHIVES)
def test_no_personal_data_reaches_the_lake(name: str, tmp_path: Path) -> None:
    canaries = [canary for canary in personal_canaries() if canary.kind in RECOGNISED_ALONE]
    source = SecretSource([partial(_entry, canary) for canary in canaries])
    path, lake = tmp_path / name, Lake(tmp_path / "lake")
    path.write_text(ARCHIVES[name](source), encoding="utf-8")
    redactor = SecretRedactor(pii=True)
    parsing.parse_archives([path], lake, redactor=redactor, grouping=parsing.Grouping(GROUP))
    episodes.build(lake, [GROUP])
    texts = written(tmp_path / "lake")
    assert "[REDACTED:email:" in texts
    assert [secret for secret in source.secrets if secret in texts] == []


def _entry(canary: Canary) -> tuple[str, str]:
    return canary.secret, canary.text
