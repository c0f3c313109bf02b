"""A parallel run starts one server per group of tests."""

import pytest


def test_groups_are_assigned_to_processes(request: pytest.FixtureRequest) -> None:
    """Some versions of pytest make pytest-xdist ignore groups: then each process starts servers."""
    parallel = hasattr(request.config, "workerinput")
    assert "@" in request.node.nodeid or not parallel
