"""Tiny embedding models: each byte of a text is a token, and a text is the mean of its tokens."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, processors
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

_START, _PAD = "[CLS]", "[PAD]"
_VOCABULARY = (_PAD, _START, *sorted(ByteLevel.alphabet()))
_MAX_TOKENS = 512


def write_model(
    folder: Path, *, dimensions: int = 16, file: str = "model.onnx", seed: int = 1
) -> Path:
    """Write model and tokenizer, as sentence-transformers exports them; return the folder."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(dimensions, seed), folder / file)
    _tokenizer().save(str(folder / "tokenizer.json"))
    config = {"model_max_length": _MAX_TOKENS, "pad_token": _PAD}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def write_download(cache: Path, repository: str, *, dimensions: int) -> Path:
    """Write a model into a cache of downloads; return the cache."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    write_model(folder / "snapshots" / "0123", dimensions=dimensions)
    (folder / "snapshots" / "0123" / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("0123")
    return cache


def _graph(dimensions: int, seed: int) -> onnx.ModelProto:
    """Return a model that looks up the vector of each token."""
    shape = ["batch", "tokens"]
    table = np.random.default_rng(seed).standard_normal((len(_VOCABULARY), dimensions))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "lookup",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask")
        ],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, [*shape, dimensions]
            )
        ],
        [numpy_helper.from_array(table.astype(np.float32), "table")],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(BPE({token: at for at, token in enumerate(_VOCABULARY)}, []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_special_tokens([_PAD, _START])
    start = (_START, _VOCABULARY.index(_START))
    tokenizer.post_processor = processors.TemplateProcessing(f"{_START} $A", None, [start])
    return tokenizer
