"""MariaDB's slow query log as a plugin that takes no lock: built for a server, put where it can be loaded."""

from redolab.errors import InvalidInput
from redolab.servers.dialects import Dialect, Version

_OLDEST = Version(10, 11, 0)


def why_no_slow_log_plugin(dialect: Dialect) -> str | None:
    """Return why servers of this dialect cannot load the slow log plugin; None if they can."""
    if not dialect.takes_audit_plugins:
        return "a plugin of MariaDB"
    if dialect.version < _OLDEST:
        return "built for MariaDB 10.11 and later: the libraries of older servers' Debian are older than the compiler's"
    return None


def check_has_plugin(name: str, dialect: Dialect) -> None:
    """Raise `InvalidInput` if there is no such plugin for servers of this dialect."""
    if (why := why_no_slow_log_plugin(dialect)) is not None:
        raise InvalidInput(f"{name} cannot load the slow log plugin, {why}", "name mariadb-10.11 or mariadb-11.8")
