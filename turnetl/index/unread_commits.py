"""Compare an index with a graph, by the sequence numbers of the commits of each group."""

from collections.abc import Iterable, Mapping

from turnetl.base.graph_model import GroupVersion
from turnetl.base.model import GroupId
from turnetl.base.shadow_groups import is_shadow
from turnetl.index.report import IndexedGroup


def unread_commits(
    groups: Iterable[IndexedGroup], versions: Mapping[GroupId, GroupVersion]
) -> Mapping[GroupId, range]:
    """Return the numbers of the commits of each group of a graph that an index has not read.

    An index does not read the shadow groups of migrations.
    """
    known = {group.group_id: group for group in groups}
    return {
        group: range(
            known[group].sequence + 1 if group in known and known[group].is_of(version) else 1,
            version.sequence + 1,
        )
        for group, version in versions.items()
        if not is_shadow(group)
    }
