"""Clusters of a network: by Leiden, or by label propagation."""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib.util import find_spec
from typing import assert_never

from turnetl.base.errors import BadUsage, RunStopped
from turnetl.summaries.communities.label_propagation import propagate_labels
from turnetl.summaries.communities.network import EntityNetwork

Cluster = tuple[str, ...]
"""Uuids of its entities, sorted; two at least."""

_LIBRARY = "graspologic_native"
_SEED = 1
_ITERATIONS = 2
_MIN_MEMBERS = 2
_OUT_OF_TIME = (
    "the time was up before the communities were found, and none was changed: give `--max-seconds` "
    "more, or use `leiden`"
)
_INSTALL = (
    "the algorithm `leiden` is not installed: run `pip install 'turnetl[communities]'`, or use "
    "`label-propagation`"
)


class Algorithm(StrEnum):
    """How communities are found."""

    LEIDEN = "leiden"
    LABEL_PROPAGATION = "label-propagation"


def check_clustering(algorithm: Algorithm, resolution: float) -> None:
    """Check what `clusters` is called with, before anything is read.

    Raises:
        BadUsage: the resolution is not positive, or Leiden is not installed.
    """
    if not (resolution > 0 and math.isfinite(resolution)):
        raise BadUsage(f"the resolution of communities must be positive, not {resolution:g}")
    if algorithm is Algorithm.LEIDEN and find_spec(_LIBRARY) is None:
        raise BadUsage(_INSTALL)


def clusters(
    network: EntityNetwork,
    algorithm: Algorithm = Algorithm.LEIDEN,
    *,
    resolution: float = 1.0,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[Cluster, ...]:
    """Return the clusters, the largest first, then in the order of their uuids.

    No entity is in two of them. The same network gives the same clusters.

    Args:
        network: the entities; it may be empty.
        algorithm: how they are found.
        resolution: positive; a higher one makes Leiden find more and smaller clusters. Label
            propagation has none.
        is_out_of_time: whether to give up. Leiden is not interrupted: it takes 0.03 s for 5,000
            entities.

    Raises:
        BadUsage: as `check_clustering`.
        RunStopped: the time was up before the labels had settled.
    """
    check_clustering(algorithm, resolution)
    if not network.entities:
        return ()
    labels: Mapping[str, object]
    match algorithm:
        case Algorithm.LEIDEN:
            labels = _leiden(network, resolution)
        case Algorithm.LABEL_PROPAGATION:
            labels = propagate_labels(network, check=lambda: _check_time(is_out_of_time))
        case _:
            assert_never(algorithm)
    return _members(labels)


def _check_time(is_out_of_time: Callable[[], bool]) -> None:
    if is_out_of_time():
        raise RunStopped(_OUT_OF_TIME)


def _leiden(network: EntityNetwork, resolution: float) -> Mapping[str, int]:
    """Return the number of the community of each entity."""
    from graspologic_native import leiden  # noqa: PLC0415 - an extra of the package

    # The result depends on the order of the edges and on the seed: both are fixed.
    edges = [(one, other, float(weight)) for (one, other), weight in network.weights.items()]
    _, labels = leiden(edges, resolution=resolution, seed=_SEED, iterations=_ITERATIONS)
    found: Mapping[str, int] = labels
    return found


def _members(labels: Mapping[str, object]) -> tuple[Cluster, ...]:
    found: dict[object, list[str]] = {}
    for uuid in sorted(labels):
        found.setdefault(labels[uuid], []).append(uuid)
    large = (tuple(members) for members in found.values() if len(members) >= _MIN_MEMBERS)
    return tuple(sorted(large, key=lambda members: (-len(members), members)))
