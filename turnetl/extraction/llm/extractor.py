"""The extractor that asks a language model, through Graphiti's building blocks.

It takes the steps of Graphiti's `add_episode`, in its order, with these differences: what depends
on the turn alone runs ahead (`extract`), and its facts are still asked for while its things are
matched; every read is answered from the group in memory (`resolve`); a fact that the model gives no
date is dated from its turn, which saves a call; names that nobody would look for are left out, if
there are instructions. Keys are digests of the turn and of what it names, so that a turn done again
gives the same.
"""

from asyncio import Task
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from importlib.metadata import version
from weakref import WeakKeyDictionary

from turnetl import ids
from turnetl.extraction.llm import graphiti_patch, mapping, prompt_context
from turnetl.extraction.llm.background import Background
from turnetl.extraction.llm.calls import Passage
from turnetl.extraction.llm.clients import Clients
from turnetl.extraction.llm.extract import Halve, Named, Reader, Said
from turnetl.extraction.llm.resolve import Gate, Matching
from turnetl.extraction.ontology import CODING, Ontology
from turnetl.extraction.port import Resolved
from turnetl.extraction.prompt_config import PromptConfig, PromptConfigs
from turnetl.graph.mirror.candidates import CandidateIndex
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.mirror.overlay import Overlay, OverlayCandidates
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder
from turnetl.model import Episode, GroupId, Usage, Vector

_VERSION = "5"
"""Of what is made of answers, in the modules of this folder and in `junk`."""
_GONE = "facts"
"""What facts are counted under that had nothing left to hang on."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of a turn says. Nothing in it hangs on the group."""

    passage: Passage
    named: Named
    vectors: Mapping[str, Vector]
    """Of the names."""
    said: Task[tuple[Said, Mapping[str, Vector]]]
    """What it says of them, and the vectors of that: under way, or there."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a turn says."""

    parts: tuple[Part, ...]


class LlmExtractor:
    """Asks a model for the entities and facts of a turn, and what they are in the group."""

    def __init__(
        self,
        model: ChatModel,
        embedder: Embedder,
        *,
        steering: PromptConfigs,
        ontology: Ontology = CODING,
        gate: Gate | None = None,
        halve: Halve | None = None,
        parameters: str = "",
    ) -> None:
        """Make an extractor for any number of groups.

        Args:
            model: asked, for all turns.
            embedder: the one whose vectors the groups hold.
            steering: which instructions stand in the prompts that extract, by group and kind.
            ontology: kinds of things and facts to look for.
            gate: asked before an entity is summarised; None summarises as Graphiti does.
            halve: cuts a part that is too long for the model; None sets its turn aside.
            parameters: what the model is told in every call, beside the question.
        """
        self._model = model
        self._embedder = embedder
        self._steering = steering
        self._ontology = ontology
        self._gate = gate
        self._parameters = parameters
        graphiti_patch.remember()
        self._reader = Reader(model, GraphitiEmbedder(embedder), ontology, halve)
        self._background = Background()
        self._candidates: WeakKeyDictionary[MirrorGroup, CandidateIndex] = WeakKeyDictionary()

    def recipe(self, group: GroupId, kind: str = "") -> str:
        return ids.digest(
            "llm",
            _VERSION,
            _graphiti(),
            self._model.name,
            self._parameters,
            self._steering.of(group, kind).digest,
            self._ontology.digest,
        )

    async def close(self) -> None:
        """Break off what is under way, and let go of the model's connections. Safe to repeat."""
        await self._background.clear()
        await self._model.close()

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Extracted:
        """Return what the turn names; what it says of that may still be under way."""
        steer = self._steering.of(episode.turn.group_id, episode.kind)
        passages = _passages(episode, context, whole=steer.instructions is None)
        return Extracted(tuple([await self._begun(passage, steer) for passage in passages]))

    async def resolve(
        self,
        episode: Episode,  # noqa: ARG002 - its passages are in what was extracted
        extracted: Extracted,
        group: MirrorGroup,
        *,
        now: datetime,
    ) -> Resolved:
        embedder = GraphitiEmbedder(self._embedder)
        draft = Overlay(group)
        candidates = OverlayCandidates(draft, self._of(group))
        mentions, told = [], []
        usage = Usage()
        for part in extracted.parts:
            driver = MirrorDriver.for_group(draft, candidates, embedder.remember)
            clients = partial(Clients, self._model, embedder, driver)
            matching = Matching(clients, self._ontology, self._gate, part.passage)
            _remember(embedder, part.vectors)
            nodes, keys = await matching.things(part.named.entities)
            said, vectors = await part.said
            _remember(embedder, vectors)
            nodes, edges = await matching.facts(said, nodes, keys)
            resolved = mapping.resolved(nodes, edges, draft, known=embedder.known, now=now)
            await _take(draft, resolved, embedder)
            mentions.append(resolved.mentions)
            told.append((part.named, said))
            usage += part.named.usage + said.usage + matching.usage
        return replace(mapping.of_draft(draft, mentions), usage=usage, discarded=_left_out(told))

    async def _begun(self, passage: Passage, steer: PromptConfig) -> Part:
        named = await self._reader.names(passage, steer)
        said = self._background.begin(self._said(passage, named, steer))
        vectors = await self._vectors(one.name for one in named.entities)
        return Part(passage, named, vectors, said)

    async def _said(
        self, passage: Passage, named: Named, steer: PromptConfig
    ) -> tuple[Said, Mapping[str, Vector]]:
        said = await self._reader.says(passage, named.entities, steer)
        texts = [*(one.name for one in said.endpoints), *(one.text for one in said.facts)]
        return said, await self._vectors(texts)

    async def _vectors(self, texts: Iterable[str]) -> Mapping[str, Vector]:
        once = list(dict.fromkeys(texts))
        return dict(zip(once, await self._embedder.embed(once) if once else (), strict=True))

    def _of(self, group: MirrorGroup) -> CandidateIndex:
        if group not in self._candidates:
            self._candidates[group] = CandidateIndex(group)
        return self._candidates[group]


@cache
def _graphiti() -> str:
    return version("graphiti-core")


def _passages(episode: Episode, context: Sequence[Episode], *, whole: bool) -> Iterator[Passage]:
    for number, told in enumerate(prompt_context.told(episode)):
        before = prompt_context.before(episode, number, context, whole=whole)
        yield Passage(told, before, ids.part_id(episode.turn_id, number))


def _remember(embedder: GraphitiEmbedder, vectors: Mapping[str, Vector]) -> None:
    for text, vector in vectors.items():
        embedder.remember(text, vector)


def _left_out(told: Iterable[tuple[Named, Said]]) -> Mapping[str, int]:
    """Return how many names were left out, each once, and how many facts, by reason."""
    reasons: dict[str, str] = {}
    gone = 0
    for named, said in told:
        reasons |= {**named.discarded, **said.discarded}
        gone += said.gone
    return {**Counter(reasons.values()), **({_GONE: gone} if gone else {})}


async def _take(draft: Overlay, said: Resolved, embedder: GraphitiEmbedder) -> None:
    """Take in what a part says; what was not embedded on the way is embedded now."""
    names = [one.name for one in said.entities if one.embedding is None]
    texts = [one.text for one in said.facts if one.embedding is None]
    if names or texts:
        await embedder.create_batch([*names, *texts])
    draft.add(
        (
            replace(one, embedding=one.embedding or embedder.known(one.name))
            for one in said.entities
        ),
        (replace(one, embedding=one.embedding or embedder.known(one.text)) for one in said.facts),
    )
