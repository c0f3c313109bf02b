"""The file of the trusted folders: who may have made it, and who writes it at the same time."""

import subprocess
import sys
from stat import S_IMODE

import pytest

from tests.cli.command import ROOT, clean_environment
from tests.cli.planted_folder import PlantedFolder, listed, model_of
from tests.servers.provider import FakeProvider


@pytest.mark.full
def test_two_processes_that_trust_at_the_same_time_lose_nothing(planted: PlantedFolder) -> None:
    folders = [planted.path / str(number) for number in range(6)]
    for folder in folders:
        folder.mkdir()
        (folder / "graphiti.config.json").write_text("{}")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRUST, *map(str, folders[number::2])],
            env=clean_environment(planted.home),
            cwd=ROOT,
        )
        for number in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert [entry["folder"] for entry in listed(planted)] == [str(folder) for folder in folders]


TRUST = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from turnetl.settings import revoke_trust, trust_folder, trust_store

for folder in sys.argv[1:]:
    for _ in range(20):
        trust_folder(trust_store(), Path(folder), home=Path.home(), now=datetime.now(UTC))
        revoke_trust(trust_store(), Path(folder), home=Path.home())
    trust_folder(trust_store(), Path(folder), home=Path.home(), now=datetime.now(UTC))
"""


@pytest.mark.parametrize("damage", ["link", "writable", "text", "version", "lock"])
def test_a_trust_store_that_others_may_have_made_trusts_nothing(
    damage: str, planted: PlantedFolder, provider: FakeProvider
) -> None:
    planted.write_config(llm=model_of(provider))
    planted.run("trust")
    store = planted.home / ".local" / "state" / "turnetl" / "trust.json"
    assert S_IMODE(store.stat().st_mode) == 0o600
    aside = planted.home / "aside"
    if damage == "link":
        store.rename(aside)
        store.symlink_to(aside)
    elif damage == "writable":
        store.chmod(0o622)
    elif damage == "text":
        store.write_text('{"version": 1, "folders": ')
    elif damage == "version":
        store.write_text(store.read_text().replace('"version": 1', '"version": 2'))
    else:
        lock = store.with_name("trust.lock")
        lock.unlink()
        lock.symlink_to(aside)
    if damage != "lock":
        result = planted.run("model", "check")
        assert (result.exit_code, provider.requests) == (2, [])
        assert f"the trust store `{store}`" in result.messages[0]
    changed = planted.run("trust")
    assert (changed.exit_code, len(changed.messages)) == (1, 1)
    assert damage == "link" or not aside.exists()
