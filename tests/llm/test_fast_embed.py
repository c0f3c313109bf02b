"""Embedding models that run on this machine."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.onnx_models import write_download, write_model
from turnetl.base.errors import BadUsage, ModelUnusable
from turnetl.llm.embedders import open_embedder
from turnetl.llm.embedders.fast_embed import open_fastembed
from turnetl.llm.vectors import stack, unpack

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
REPOSITORY = "Qdrant/all-MiniLM-L6-v2-onnx"


async def test_a_folder_with_a_model_is_an_embedder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    embedder = open_embedder("fastembed", model=str(folder))
    assert embedder.dimensions == 16
    assert stack(await embedder.embed(["a", "b"])).shape == (2, 16)


async def test_the_name_of_a_folder_tells_models_apart_wherever_they_are(tmp_path: Path) -> None:
    here, there = write_model(tmp_path / "here/tiny"), write_model(tmp_path / "there/tiny")
    other = write_model(tmp_path / "other/tiny", seed=2)
    names = [open_fastembed(str(path), tmp_path).name for path in (here, there, other)]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("fastembed/tiny/")


async def test_a_text_is_the_mean_of_its_tokens_or_its_first_token_as_the_folder_says(
    tmp_path: Path,
) -> None:
    folder = write_model(tmp_path / "tiny")
    by_mean = await open_fastembed(str(folder), tmp_path).embed(["a", "b"])
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    by_first = await open_fastembed(str(folder), tmp_path).embed(["a", "b"])
    assert by_mean[0] != by_mean[1]
    assert by_first[0] == by_first[1]


async def test_a_model_that_was_downloaded_is_used_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cache = write_download(tmp_path, REPOSITORY, dimensions=384)
    embedder = open_fastembed(MINILM.upper(), cache)
    assert (embedder.name, embedder.dimensions) == (f"fastembed/{MINILM}", 384)
    (vector,) = await embedder.embed(["a text"])
    assert np.linalg.norm(unpack(vector)) == pytest.approx(1, abs=1e-5)
    assert caplog.messages == []


async def test_a_download_is_announced_with_its_size_and_a_failure_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = open_fastembed(MINILM, tmp_path)
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(ModelUnusable, match="cannot be downloaded: check the network, or set"),
    ):
        await embedder.embed(["a text"])
    assert caplog.messages == [
        f"downloading the embedding model `{MINILM}` (90 MB) to `{tmp_path}`"
    ]


def test_an_unknown_name_is_reported_with_similar_ones(tmp_path: Path) -> None:
    with pytest.raises(
        BadUsage, match=r"no model `BAAI/bge-smal`; similar are `BAAI/bge-small-en`"
    ):
        open_fastembed("BAAI/bge-smal", tmp_path)


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.onnx"])
def test_a_folder_that_lacks_a_file_is_reported_with_its_name(tmp_path: Path, missing: str) -> None:
    folder = write_model(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(BadUsage, match=rf"tiny` has no.*`{missing}`"):
        open_fastembed(str(folder), tmp_path)


async def test_model_and_tokenizer_alone_are_an_embedder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    whole = await open_fastembed(str(folder), tmp_path).embed(["a text", "b"])
    (folder / "tokenizer_config.json").unlink()
    assert await open_fastembed(str(folder), tmp_path).embed(["a text", "b"]) == whole


def test_a_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"none` does not exist"):
        open_fastembed(str(tmp_path / "none"), tmp_path)


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json", "model.onnx"])
async def test_a_damaged_file_is_reported_in_one_sentence(tmp_path: Path, file: str) -> None:
    folder = write_model(tmp_path / "tiny")
    (folder / file).write_text("{")
    embedder = open_fastembed(str(folder), tmp_path)
    with pytest.raises(BadUsage, match=r"tiny` cannot be loaded: .") as raised:
        await embedder.embed(["a"])
    assert "\n" not in str(raised.value)
