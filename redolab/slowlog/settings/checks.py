"""Check of an account's privileges before the first change."""

from __future__ import annotations

from redolab.errors import LabError
from redolab.slowlog.settings.server import UserServer, privileges

_ALL = "ALL PRIVILEGES"
_TO_SET = ("SUPER", "SYSTEM_VARIABLES_ADMIN")
_TO_FLUSH = "RELOAD"
_TO_SEE = "PROCESS"


def missing_privileges(held: frozenset[str], *, sets_variables: bool = True) -> list[str]:
    """Return the privileges, beyond these global ones, that flushing the log and (if asked) setting variables need."""
    if _ALL in held:
        return []
    if not sets_variables:
        return [] if _TO_FLUSH in held else [_TO_FLUSH]
    missing = [] if held & set(_TO_SET) else [" or ".join(_TO_SET)]
    return missing + [each for each in (_TO_FLUSH, _TO_SEE) if each not in held]


def check_privileges(server: UserServer, *, sets_variables: bool = True) -> None:
    """Raise `LabError` that names the account's missing privileges.

    MariaDB and managed services have rules of their own. The check therefore also tries SET GLOBAL with the present
    value of the variable.
    """
    held = privileges([str(row[0]) for row in server.rows("SHOW GRANTS")])
    lacking = missing_privileges(held, sets_variables=sets_variables)
    if lacking:
        account = server.rows("SELECT CURRENT_USER()")[0][0]
        raise LabError(
            f"the account {account} lacks {', '.join(lacking)}",
            "grant it (of a role: SET DEFAULT ROLE), or use an account that has it; on a managed service as RDS no account "
            "may SET GLOBAL: change its parameter group there",
        )
    if sets_variables:
        server.carry_out("SET GLOBAL long_query_time = @@GLOBAL.long_query_time")
