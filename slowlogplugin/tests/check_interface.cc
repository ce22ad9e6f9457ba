/* Compiled only: what interface.h says against the headers of a server. */

#include <cstddef>

struct THD;
#define MYSQL_THD THD *
#include <my_global.h>
#include <mysql/plugin.h>
#include <mysql/plugin_audit.h>

#include "interface.h"

#define SAME(OURS, MEMBER, THEIRS, OTHER) \
    static_assert(offsetof(OURS, MEMBER) == offsetof(THEIRS, OTHER) && \
                  sizeof(OURS::MEMBER) == sizeof(((THEIRS *)nullptr)->OTHER))

static_assert(server::PLUGIN_INTERFACE_VERSION >> 8 == MARIA_PLUGIN_INTERFACE_VERSION >> 8);
static_assert(server::PLUGIN_INTERFACE_VERSION <= MARIA_PLUGIN_INTERFACE_VERSION);
static_assert(server::AUDIT_INTERFACE_VERSION == MYSQL_AUDIT_INTERFACE_VERSION);
static_assert(server::AUDIT_PLUGIN == MYSQL_AUDIT_PLUGIN && server::LICENCE_BSD == PLUGIN_LICENSE_BSD);
static_assert(server::MATURITY_GAMMA == MariaDB_PLUGIN_MATURITY_GAMMA);
static_assert(server::GENERAL_CLASS == MYSQL_AUDIT_GENERAL_CLASS && server::GENERAL_STATUS == MYSQL_AUDIT_GENERAL_STATUS);
static_assert(server::CONNECTION_CLASS == MYSQL_AUDIT_CONNECTION_CLASS);
static_assert(server::CONNECTION_DISCONNECT == MYSQL_AUDIT_CONNECTION_DISCONNECT);
static_assert(static_cast<int>(server::SHOW_SIMPLE_FUNCTION) == static_cast<int>(SHOW_SIMPLE_FUNC));
static_assert(static_cast<int>(server::SHOW_UNSIGNED_LONG_LONG) == static_cast<int>(SHOW_ULONGLONG));
static_assert(server::VARIABLE_BOOL == PLUGIN_VAR_BOOL && server::VARIABLE_TEXT == PLUGIN_VAR_STR);
static_assert(server::VARIABLE_UNSIGNED == (PLUGIN_VAR_INT | PLUGIN_VAR_UNSIGNED));
static_assert(server::NO_COMMAND_LINE_OPTION == PLUGIN_VAR_NOCMDOPT && server::ARGUMENT_OPTIONAL == PLUGIN_VAR_OPCMDARG);

SAME(server::GeneralEvent, subclass, mysql_event_general, event_subclass);
SAME(server::GeneralEvent, thread_id, mysql_event_general, general_thread_id);
SAME(server::GeneralEvent, user, mysql_event_general, general_user);
SAME(server::GeneralEvent, user_length, mysql_event_general, general_user_length);
SAME(server::GeneralEvent, command, mysql_event_general, general_command);
SAME(server::GeneralEvent, command_length, mysql_event_general, general_command_length);
SAME(server::GeneralEvent, query, mysql_event_general, general_query);
SAME(server::GeneralEvent, query_length, mysql_event_general, general_query_length);
SAME(server::GeneralEvent, database, mysql_event_general, database);
SAME(server::ConnectionEvent, subclass, mysql_event_connection, event_subclass);
SAME(server::Audit, release, st_mysql_audit, release_thd);
SAME(server::Audit, notify, st_mysql_audit, event_notify);
SAME(server::Audit, class_mask, st_mysql_audit, class_mask);
static_assert(sizeof(server::Audit) == sizeof(st_mysql_audit));
SAME(server::ShowVariable, value, st_mysql_show_var, value);
SAME(server::ShowVariable, type, st_mysql_show_var, type);
SAME(server::Value, text, st_mysql_value, val_str);
SAME(server::Value, integer, st_mysql_value, val_int);
SAME(server::Plugin, name, st_maria_plugin, name);
SAME(server::Plugin, begin, st_maria_plugin, init);
SAME(server::Plugin, status, st_maria_plugin, status_vars);
SAME(server::Plugin, variables, st_maria_plugin, system_vars);
SAME(server::Plugin, maturity, st_maria_plugin, maturity);
static_assert(sizeof(server::Plugin) == sizeof(st_maria_plugin));

namespace {

[[maybe_unused]] DECLARE_MYSQL_SYSVAR_BASIC(flag, char) = {0, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
[[maybe_unused]] DECLARE_MYSQL_SYSVAR_SIMPLE(size, unsigned) = {0, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0};

}  // namespace

using TheirBool = decltype(mysql_sysvar_flag);
using TheirUnsigned = decltype(mysql_sysvar_size);
static_assert(sizeof(server::BoolVariable) == sizeof(TheirBool) && sizeof(server::UnsignedVariable) == sizeof(TheirUnsigned));
static_assert(offsetof(TheirBool, value) == sizeof(server::Variable));
