"""`turnetl index`, and what `turnetl status` says about the index."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, index_folder, run_in_process
from tests.servers.provider import KEY, FakeProvider

FULL_DISK = """
import resource
from turnetl.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
main()
"""
"""Runs a command that cannot write more than 60 kB to a file."""


@pytest.mark.full
def test_a_second_run_reads_nothing_and_a_rebuild_reads_all(shop: Path) -> None:
    rebuilt = run_in_process("index", "--rebuild", "--json", folder=shop).json
    assert rebuilt["groups"] == [{"group": "shop", "turns": 2}]
    assert (rebuilt["turns"], rebuilt["turns_behind"], rebuilt["added"]) == (2, 0, 2)
    assert rebuilt["passages"] == 4
    assert rebuilt["bytes"] > 0
    assert rebuilt["caught_up_at"]
    assert run_in_process("index", "--json", folder=shop).json["added"] == 0


def test_the_table_and_status_have_the_turns_and_the_time_of_the_index(shop: Path) -> None:
    text = run_in_process("index", folder=shop).stdout
    assert "the index holds 2 turns and 4 passages" in text
    assert "brought up to date 20" in text
    assert str(Path(".turnetl") / "lake" / "index") in text
    status = run_in_process("status", folder=shop)
    assert "search index: 2 turns, up to date; brought up to date 20" in status.stdout
    shutil.rmtree(index_folder(shop))
    assert "search index: none yet" in run_in_process("status", folder=shop).stdout
    assert run_in_process("status", "--json", folder=shop).json["index"] is None


def test_without_a_graph_a_message_says_where_it_would_be(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    expected = tmp_path / ".turnetl" / "lake" / "graph.lbug"
    for command in (("index",), ("index", "--rebuild"), ("search", "cart")):
        with subtests.test(command=command):
            result = run_in_process(*command, folder=tmp_path)
            assert (result.exit_code, len(result.messages)) == (1, 1)
            assert f"there is no graph at `{expected}`" in result.messages[0]


@pytest.mark.full
def test_an_index_of_another_embedder_is_refused_until_it_is_rebuilt(
    shop: Path, provider: FakeProvider
) -> None:
    """The rebuild states its tokens; the server is asked for no dimensions that are recorded."""
    environment = _http_embedder(provider)
    refused = run_in_process("search", "cart", folder=shop, **environment)
    assert refused.exit_code == 1
    assert "run `turnetl index --rebuild`, or restore the setting" in refused.messages[0]
    rebuilt = run_in_process("index", "--rebuild", folder=shop, **environment)
    assert (rebuilt.exit_code, len(rebuilt.messages)) == (0, 1)
    assert "the search index embeds 2 turns with `openai-compatible/toy`" in rebuilt.messages[0]
    assert "tokens, price unknown" in rebuilt.messages[0]
    before = len(provider.requests)
    assert run_in_process("index", folder=shop, **environment).exit_code == 0
    assert len(provider.requests) == before
    assert run_in_process("search", "cart", folder=shop, **environment).exit_code == 0
    assert len(provider.requests) == before + 1


def _http_embedder(provider: FakeProvider) -> dict[str, str]:
    return {
        "TURNETL_EMBEDDER__PROVIDER": "openai-compatible",
        "TURNETL_EMBEDDER__BASE_URL": f"{provider.url}/v1",
        "TURNETL_EMBEDDER__MODEL": "toy",
        "TURNETL_EMBEDDER__API_KEY": KEY,
    }


@pytest.mark.full
def test_a_damaged_index_is_rebuilt_by_a_search_with_a_sentence(
    shop: Path, subtests: pytest.Subtests
) -> None:
    whole = run_in_process("search", "cart", "--json", folder=shop).json["hits"]
    for name in ("catalog.sqlite", "vectors/keys", "lexical/turns/meta.json"):
        with subtests.test(name=name):
            (index_folder(shop) / name).write_bytes(b"garbage" * 1000)
            for log in index_folder(shop).glob("*-wal"):
                log.unlink()
            result = run_in_process("search", "cart", "--json", folder=shop)
            assert (result.exit_code, len(result.messages)) == (0, 1)
            assert result.json["hits"] == whole != []
            assert "is damaged (" in result.messages[0]
            assert result.messages[0].endswith("); it is rebuilt from the graph")


@pytest.mark.full
def test_a_full_disk_is_a_sentence_and_the_next_run_makes_the_index(shop: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", FULL_DISK, "index", "--rebuild"],
        cwd=shop,
        env=clean_environment(shop),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "cannot be used (" in process.stderr
    assert "make sure that its disk has free space" in process.stderr
    assert run_in_process("index", "--json", folder=shop).json["turns"] == 2


def test_a_lake_that_is_copied_keeps_its_index(shop: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(shop / ".turnetl" / "lake", copy)
    index = [path.name for path in (copy / "index").iterdir()]
    found = run_in_process("search", "cart", "--lake", copy, "--json", folder=tmp_path)
    assert found.json["hits"]
    assert [path.name for path in (copy / "index").iterdir()] == index
    status = run_in_process("status", "--lake", copy, "--json", folder=tmp_path).json
    assert status["index"]["turns"] == len(found.json["hits"]) == 2
