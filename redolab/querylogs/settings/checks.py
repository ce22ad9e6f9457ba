"""Whether an account may do what is about to be done: looked up before the first change."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.errors import LabError
from redolab.querylogs.settings.changes import TIME
from redolab.querylogs.settings.server import UserServer, privileges

_ALL = "ALL PRIVILEGES"
_TO_SET = ("SUPER", "SYSTEM_VARIABLES_ADMIN")
_TO_FLUSH = "RELOAD"
_TO_SEE = "PROCESS"


def missing_privileges(held: frozenset[str]) -> list[str]:
    """What an account with these global privileges lacks, in words."""
    if _ALL in held:
        return []
    missing = [] if held & set(_TO_SET) else [" or ".join(_TO_SET)]
    return missing + [each for each in (_TO_FLUSH, _TO_SEE) if each not in held]


def check_privileges(server: UserServer, variables: Sequence[str]) -> None:
    """Raises `LabError` naming what the account lacks.

    Grants may come from roles, and MariaDB and managed services have rules of their own. So SET GLOBAL is tried too, with
    the value that the variable has.
    """
    lacking = missing_privileges(_held(server))
    if lacking:
        account = server.rows("SELECT CURRENT_USER()")[0][0]
        raise LabError(
            f"the account {account} lacks {', '.join(lacking)}",
            "grant it, or use an account that has it; on a managed service as RDS no account may SET GLOBAL: change its "
            "parameter group there",
        )
    if TIME in variables:
        server.set_global(f"SET GLOBAL {TIME} = @@GLOBAL.{TIME}")
    server.flush()


def _held(server: UserServer) -> frozenset[str]:
    grants = [str(row[0]) for row in server.rows("SHOW GRANTS")]
    held = privileges(grants)
    if missing_privileges(held) and any("ON *.*" not in grant and " ON " not in grant for grant in grants):
        role = server.rows("SELECT CURRENT_ROLE()")[0][0]
        if role and str(role).upper() != "NONE":
            # MySQL shows what a role grants only when it is asked for that role; MariaDB shows it always.
            using = f"SHOW GRANTS FOR CURRENT_USER() USING {role}"
            if "`" in str(role):
                held |= privileges([str(row[0]) for row in server.rows(using)])
    return held
