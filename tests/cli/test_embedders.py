"""Embedders by name, from the settings to the hits of a search."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.archives import conversation, two_turns
from tests.cli.command import SAMPLES, run_in_process, turnetl_process
from tests.cli.provider_setup import SESSION_START
from tests.fakes.onnx_models import write_model


class HubThatIsDown(ThreadingHTTPServer):
    """Refuses every request, and counts them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.paths: list[str] = []


class _Refusal(BaseHTTPRequestHandler):
    server: HubThatIsDown

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def hub() -> Iterator[HubThatIsDown]:
    with HubThatIsDown() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.full
def test_a_model_in_a_folder_embeds_the_graph_and_the_queries(tmp_path: Path) -> None:
    archive = two_turns(tmp_path, SESSION_START)
    environment = {"TURNETL_EMBEDDER__PROVIDER": f"fastembed:{write_model(tmp_path / 'tiny')}"}
    ingested = run_in_process("backfill", archive, folder=tmp_path, **environment)
    assert ingested.exit_code == 0
    assert [message for message in ingested.messages if "the search index embeds" in message]
    result = run_in_process("search", "cart", folder=tmp_path, **environment)
    assert (result.exit_code, result.messages) == (0, [])
    assert "Add a cart to the shop" in result.stdout
    other = run_in_process("search", "cart", folder=tmp_path)
    assert other.exit_code == 1
    assert "made with the embedder `fastembed/tiny/" in other.stderr


@pytest.mark.full
def test_a_local_model_states_its_passages_before_it_embeds(shop: Path) -> None:
    environment = {"TURNETL_EMBEDDER__PROVIDER": f"fastembed:{write_model(shop / 'tiny')}"}
    result = run_in_process("index", "--rebuild", "--json", folder=shop, **environment)
    assert result.json["passages"] == 4
    assert len(result.messages) == 1
    assert "the search index embeds 2 turns with `fastembed/tiny/" in result.messages[0]
    assert "`: about 4 passages, on this machine; it may be stopped" in result.messages[0]


@pytest.mark.full
def test_a_model_that_nobody_knows_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    environment = {"TURNETL_EMBEDDER__PROVIDER": "fastembed:BAAI/bge-smal"}
    result = run_in_process("backfill", SAMPLES, folder=tmp_path, **environment)
    assert result.exit_code == 2
    assert result.messages[0].startswith("turnetl: fastembed has no model `BAAI/bge-smal`; similar")


@pytest.mark.full
def test_a_download_that_is_refused_is_a_sentence_after_one_request(
    hub: HubThatIsDown, shop: Path
) -> None:
    result = turnetl_process(
        *("index", "--rebuild"),
        folder=shop,
        TURNETL_EMBEDDER__PROVIDER="fastembed:BAAI/bge-small-en-v1.5",
        HF_ENDPOINT=f"http://127.0.0.1:{hub.server_port}",
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot be downloaded: check the network" in result.messages[-1]
    assert "TURNETL_EMBEDDER__MODEL to a folder that holds a model" in result.messages[-1]
    assert "Traceback" not in result.stderr
    assert len(hub.paths) == 1


@pytest.mark.full
def test_a_folder_of_the_working_directory_does_not_take_the_name_of_a_model(
    tmp_path: Path,
) -> None:
    archive = two_turns(tmp_path, SESSION_START)
    write_model(tmp_path / "BAAI" / "tiny")
    for name, code in (("BAAI/tiny", 2), ("./BAAI/tiny", 0)):
        environment = {"TURNETL_EMBEDDER__PROVIDER": f"fastembed:{name}"}
        result = run_in_process("backfill", archive, folder=tmp_path, **environment)
        assert result.exit_code == code, result.stderr


def test_a_chosen_embedder_embeds_the_turns_of_the_index_and_later_ones_wait(
    tmp_path: Path,
) -> None:
    archive, model = two_turns(tmp_path, SESSION_START), write_model(tmp_path / "tiny")
    run_in_process("backfill", archive, folder=tmp_path)
    chosen = run_in_process("index", "--embedder", model, "--json", folder=tmp_path)
    assert (chosen.exit_code, chosen.json["turns_to_embed"]) == (0, 0)
    assert chosen.json["search_embedder"].startswith("fastembed/tiny/")
    assert "embedding 4 passages of 2 turns with `fastembed/tiny/" in chosen.messages[-1]
    found = run_in_process("search", "cart", folder=tmp_path)
    assert (found.exit_code, found.messages) == (0, [])
    assert "Add a cart to the shop" in found.stdout
    later = tmp_path / "later.jsonl"
    later.write_text("\n".join(conversation("Add a wish list", session="s2", at=SESSION_START)))
    run_in_process("backfill", later, folder=tmp_path)
    waiting = run_in_process("search", "wish list", folder=tmp_path)
    assert "Add a wish list" in waiting.stdout
    assert "33 % of the turns are compared by the built-in embedder" in waiting.messages[0]
    status = run_in_process("status", "--verbose", folder=tmp_path).stdout
    assert "1 turn not embedded by fastembed/tiny/" in " ".join(status.split())
    assert run_in_process("index", "--json", folder=tmp_path).json["turns_to_embed"] == 0
    without = run_in_process("index", "--embedder", "local", "--json", folder=tmp_path)
    assert without.json["search_embedder"] is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("acme", "`acme` is no embedder: Input should be 'local', 'minilm', 'fastembed'"),
        ("openai-compatible", "sends texts to a server: name it in the settings"),
        ("./none", "none` does not exist"),
    ],
)
def test_an_embedder_that_cannot_be_chosen_is_reported_before_anything_is_read(
    shop: Path, name: str, reason: str
) -> None:
    result = run_in_process("index", "--embedder", name, folder=shop)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.messages[0]
