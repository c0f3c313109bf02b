"""Groups by the names that a user gives."""

from collections.abc import Sequence

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.ids import is_shadow
from turnetl.base.model import GroupId
from turnetl.base.shard import Shard


def select_groups(
    existing: Sequence[GroupId],
    names: Sequence[str],
    *,
    shadows: bool = False,
    shard: Shard | None = None,
) -> list[GroupId]:
    """Return the groups with these ids or project names; all existing groups if there are no names.

    Args:
        shadows: whether the shadow groups of migrations are among "all".
        shard: return only the groups that it owns; None: all.

    Raises:
        BadUsage: no group has such a name; lists the existing groups.
    """
    selected = {GroupId(name) if name in existing else ids.group_id(name): name for name in names}
    unknown = [name for group, name in selected.items() if group not in existing]
    if unknown:
        raise BadUsage(
            f"there is no group `{unknown[0]}`; existing groups: {', '.join(existing) or 'none'}"
        )
    return [
        group
        for group in existing
        if (group in selected if names else shadows or not is_shadow(group))
        and (shard is None or shard.owns(group))
    ]
