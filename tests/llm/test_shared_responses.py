"""Responses that machines share: what every implementation does, and the model that uses them."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.lake import object_lakes
from tests.llm.journal_fixtures import NAME, chat_request, chat_response, fake_model
from tests.servers.s3_server import S3Server
from turnetl.base.errors import LakeBusy
from turnetl.lake import LocalFiles
from turnetl.lake.shared_responses import ResponseFiles
from turnetl.llm.chat import ChatRequest, response_schema
from turnetl.llm.journal import request_key
from turnetl.llm.journal.journaled_model import (
    SharedModel,
    SharedResponses,
    decoded_response,
    encoded_response,
)

KEY = request_key(NAME, chat_request())


@pytest.fixture(params=["local", "s3"])
def responses(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SharedResponses:
    if request.param == "local":
        return ResponseFiles(LocalFiles(tmp_path / "lake"))
    s3: S3Server = request.getfixturevalue("s3")
    return ResponseFiles(object_lakes.machine(object_lakes.new_url(s3, monkeypatch), tmp_path))


def test_a_content_is_read_as_it_was_written_first(responses: SharedResponses) -> None:
    assert responses.read(KEY) is None
    responses.write(KEY, b"one")
    responses.write(KEY, b"two")
    assert responses.read(KEY) == b"one"
    assert responses.read(KEY[::-1]) is None


def test_chosen_contents_are_erased(responses: SharedResponses) -> None:
    keys = [f"{number:032x}" for number in range(5)]
    for key in keys:
        responses.write(key, key.encode())
    assert responses.erase(lambda content: content.endswith((b"1", b"3"))) == 2
    assert [responses.read(key) is None for key in keys] == [False, True, False, True, False]
    assert responses.erase(lambda _: True) == 3
    assert responses.erase(lambda _: True) == 0


def shared(model: object, responses: SharedResponses, hits: Counter[str]) -> SharedModel:
    return SharedModel(model, responses, on_hit=lambda key: hits.update([key]))  # type: ignore[arg-type]


async def test_a_response_of_another_machine_is_not_paid_for_again(
    responses: SharedResponses,
) -> None:
    here, there, hits = fake_model(chat_response('{"to": "é"}')), fake_model(), Counter[str]()
    first = await shared(here, responses, hits).complete(chat_request())
    second = await shared(there, responses, hits).complete(chat_request())
    assert (second.text, second.usage) == (first.text, first.usage)
    assert (len(here.requests), len(there.requests), hits) == (1, 0, {KEY: 1})
    await shared(there, responses, hits).complete(chat_request("Another?"))
    assert len(there.requests) == 1


async def test_a_damaged_response_is_paid_for_again(
    subtests: pytest.Subtests, responses: SharedResponses
) -> None:
    for content in [
        b"",
        b"\n{}",
        b"[]\n{}",
        b'["x",1,1,1,1,1.0,null,0]\n{}',
        b"\xff\n{}",
        b"{}\n{}",
    ]:
        with subtests.test(content=content):
            responses.write(KEY, content)
            model = fake_model()
            await shared(model, responses, Counter()).complete(chat_request())
            assert len(model.requests) == 1


def test_a_flipped_bit_is_found() -> None:
    content = encoded_response(KEY, chat_response('{"to": 2}'))
    assert decoded_response(KEY, content) == chat_response('{"to": 2}')
    assert decoded_response(KEY[::-1], content) is None
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        assert decoded_response(KEY, bytes(damaged)) is None


class Names(BaseModel):
    names: list[str]


async def test_a_response_that_does_not_fit_the_schema_is_paid_for_again(
    responses: SharedResponses,
) -> None:
    plain = chat_request()
    request = ChatRequest(plain.prompt_name, plain.messages, response_schema(Names), 100)
    key = request_key(NAME, request)
    responses.write(key, encoded_response(key, chat_response("{}")))
    model = fake_model(chat_response('{"names": []}'))
    response = await shared(model, responses, Counter()).complete(request)
    assert (response.text, len(model.requests)) == ('{"names": []}', 1)


class Unreachable:
    def read(self, _: str) -> bytes | None:
        raise LakeBusy("the object store did not answer")

    def write(self, _: str, __: bytes) -> None:
        raise LakeBusy("the object store did not answer")

    def erase(self, _: object) -> int:
        return 0


async def test_without_the_shared_responses_a_request_is_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = fake_model()
    await shared(model, Unreachable(), Counter()).complete(chat_request())
    assert len(model.requests) == 1
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the shared responses cannot be read",
        "a response is not shared",
    ]
