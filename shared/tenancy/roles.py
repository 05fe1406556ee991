"""What each role may do: one table, and the only place that reads it.

A key may hold any permissions; a member holds those of its role.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.domain.accounts import Permission, Role

_VIEWER = frozenset({Permission.KB_READ})
_MEMBER = _VIEWER | {Permission.RUN_CREATE}
_EDITOR = _MEMBER | {Permission.KB_WRITE, Permission.AGENT_EDIT}

# An administrator holds `act_as` to hand it on to keys; acting for others is for keys alone.
PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.MEMBER: _MEMBER,
    Role.EDITOR: _EDITOR,
    Role.ADMIN: frozenset(Permission),
}


def permissions_of(role: Role) -> frozenset[Permission]:
    return PERMISSIONS[role]
