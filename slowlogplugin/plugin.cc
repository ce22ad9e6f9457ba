/* The plugin as the server sees it: its variables, its status, and what it does when a statement has ended. */

#define MYSQL_SERVER 1
#include <my_global.h>

#include <mysql/plugin_audit.h>
#include <mysqld.h>
#include <sql_class.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <unistd.h>

#include "gathering.h"
#include "log_file.h"
#include "session.h"

namespace {

using slowlog::LogFile;
using slowlog::Statement;

constexpr std::size_t LONGEST_NAME = 512;
char default_name[] = "redolab-slow.log";

LogFile log_file;

/* Storage of the variables, which the server reads under LOCK_global_system_variables. */
char enabled_value = 1;
char reopen_value = 0;
char *file_value = default_name;
unsigned buffer_value = 0;

/* The name that file_value points to, and the copies that every connection reads. */
char file_name[LONGEST_NAME];
std::atomic<bool> enabled{true};
std::atomic<unsigned> buffer{0};

/* Serialises changes of the log's file. */
std::mutex changing;

/* Release LOCK_global_system_variables, which a server holds while it updates a variable: connecting and every SET take
   it, and must not wait for a disk. */
class GlobalVariablesReleased {
public:
    GlobalVariablesReleased() { mysql_mutex_unlock(&LOCK_global_system_variables); }
    ~GlobalVariablesReleased() { mysql_mutex_lock(&LOCK_global_system_variables); }
    GlobalVariablesReleased(const GlobalVariablesReleased &) = delete;
    GlobalVariablesReleased &operator=(const GlobalVariablesReleased &) = delete;
};

void complain(const char *what, const char *why) {
    std::fprintf(stderr, "redolab_slow_log: %s: %s\n", what, why);
    std::fflush(stderr);
}

bool is_name(const char *name) { return name != nullptr && *name != '\0' && std::strlen(name) < LONGEST_NAME; }

/* Say in advance whether a file can be appended to or made: an update can no longer refuse. */
bool can_be_opened(const std::string &name) {
    if (::access(name.c_str(), F_OK) == 0) return ::access(name.c_str(), W_OK) == 0;
    const std::size_t slash = name.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : name.substr(0, slash + 1);
    return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

int begin(void *) {
    try {
        const std::string wrong = slowlog::wrong_server();
        if (!wrong.empty()) {
            complain("not loaded", wrong.c_str());
            return 1;
        }
        if (!is_name(file_value)) {
            complain("not loaded", "the name of its file is empty or too long");
            return 1;
        }
        std::strcpy(file_name, file_value);
        file_value = file_name;
        enabled = enabled_value != 0;
        buffer = buffer_value;
        if (const int error = log_file.open(file_name); error != 0) {
            complain(file_name, std::strerror(error));
            return 1;
        }
        return 0;
    } catch (const std::exception &error) {
        complain("not loaded", error.what());
        return 1;
    }
}

int end(void *) {
    /* The server unloads a plugin that no session uses any more: nobody is appending. */
    slowlog::flush_all(log_file);
    log_file.close();
    return 0;
}

void notify(MYSQL_THD thd, unsigned event_class, const void *event) {
    try {
        if (event_class == MYSQL_AUDIT_CONNECTION_CLASS) {
            const auto *const connection = static_cast<const mysql_event_connection *>(event);
            if (connection->event_subclass == MYSQL_AUDIT_CONNECTION_DISCONNECT) slowlog::gathered_here(log_file).flush();
            return;
        }
        const auto *const general = static_cast<const mysql_event_general *>(event);
        if (event_class != MYSQL_AUDIT_GENERAL_CLASS || general->event_subclass != MYSQL_AUDIT_GENERAL_STATUS ||
            thd == nullptr || !enabled.load(std::memory_order_relaxed))
            return;
        Statement statement;
        if (!slowlog::read_statement(*thd, statement)) return;
        statement.user_host = {general->general_user, general->general_user_length};
        slowlog::gathered_here(log_file).log(statement, buffer.load(std::memory_order_relaxed));
    } catch (const std::exception &) {
        /* No memory for this one: the server goes on. */
        log_file.dropped.add(1);
    }
}

/* Variables. A check only refuses: it runs before the rest of the statement has been checked, and not at all for DEFAULT.
   An update acts. */

int check_reopen(MYSQL_THD, st_mysql_sys_var *, void *save, st_mysql_value *value) {
    long long wanted = 0;
    if (value->val_int(value, &wanted) != 0 || (wanted != 0 && wanted != 1)) return 1;
    *static_cast<char *>(save) = static_cast<char>(wanted);
    return 0;
}

int check_file(MYSQL_THD thd, st_mysql_sys_var *, void *save, st_mysql_value *value) {
    char room[LONGEST_NAME];
    int length = sizeof room;
    const char *const wanted = value->val_str(value, room, &length);
    if (wanted == nullptr || length <= 0) return 1;
    const char *const kept = thd_strmake(thd, wanted, static_cast<std::size_t>(length));
    try {
        if (kept == nullptr || !is_name(kept) || !can_be_opened(kept)) return 1;
    } catch (const std::exception &) {
        return 1;
    }
    *static_cast<const char **>(save) = kept;
    return 0;
}

/* Append to the file called `name` from now on; a failure is the statement's error, and the old file stays. */
bool opened_anew(const char *name) {
    slowlog::flush_all(log_file);
    const int error = log_file.reopen(name);
    if (error == 0) return true;
    complain(name, std::strerror(error));
    my_printf_error(ER_UNKNOWN_ERROR, "redolab_slow_log: cannot open %s: %s", MYF(0), name, std::strerror(error));
    return false;
}

void update_file(MYSQL_THD, st_mysql_sys_var *, void *, const void *save) {
    const char *const wanted = *static_cast<const char *const *>(save);
    std::unique_lock<std::mutex> one_at_a_time(changing, std::defer_lock);
    bool opened;
    {
        const GlobalVariablesReleased released;
        one_at_a_time.lock();
        opened = opened_anew(wanted);
    }
    if (opened && wanted != file_name) std::strcpy(file_name, wanted);
}

void update_reopen(MYSQL_THD, st_mysql_sys_var *, void *, const void *save) {
    if (*static_cast<const char *>(save) == 0) return;
    const GlobalVariablesReleased released;
    const std::lock_guard<std::mutex> one_at_a_time(changing);
    opened_anew(file_name);
}

void update_enabled(MYSQL_THD, st_mysql_sys_var *, void *to, const void *save) {
    *static_cast<char *>(to) = *static_cast<const char *>(save);
    enabled = enabled_value != 0;
}

void update_buffer(MYSQL_THD, st_mysql_sys_var *, void *to, const void *save) {
    *static_cast<unsigned *>(to) = *static_cast<const unsigned *>(save);
    buffer = buffer_value;
    const GlobalVariablesReleased released;
    slowlog::flush_all(log_file);
}

MYSQL_SYSVAR_BOOL(enabled, enabled_value, PLUGIN_VAR_OPCMDARG, "Whether slow statements are logged", nullptr, update_enabled,
                  1);
MYSQL_SYSVAR_STR(file, file_value, PLUGIN_VAR_RQCMDARG, "The file that is appended to; relative to the data directory",
                 check_file, update_file, default_name);
MYSQL_SYSVAR_BOOL(reopen, reopen_value, PLUGIN_VAR_NOCMDOPT,
                  "Setting it to 1 opens the file anew, for example once it was renamed", check_reopen, update_reopen, 0);
MYSQL_SYSVAR_UINT(buffer, buffer_value, PLUGIN_VAR_RQCMDARG,
                  "Bytes that each connection gathers before they are written; 0: each statement is written at once",
                  nullptr, update_buffer, 0, 0, 16 << 20, 1);
st_mysql_sys_var *variables[] = {MYSQL_SYSVAR(enabled), MYSQL_SYSVAR(file), MYSQL_SYSVAR(reopen), MYSQL_SYSVAR(buffer),
                                 nullptr};

template <const slowlog::Counter LogFile::*counter>
int shown(MYSQL_THD, st_mysql_show_var *variable, void *room, system_status_var *, enum_var_type) {
    auto *const value = static_cast<unsigned long long *>(room);
    *value = (log_file.*counter).sum();
    variable->type = SHOW_ULONGLONG;
    variable->value = value;
    return 0;
}

template <const slowlog::Counter LogFile::*counter>
st_mysql_show_var counted(const char *name) {
    return {name, reinterpret_cast<void *>(shown<counter>), SHOW_SIMPLE_FUNC};
}

st_mysql_show_var status[] = {
    counted<&LogFile::lines>("Redolab_slow_log_lines"),
    counted<&LogFile::bytes>("Redolab_slow_log_bytes"),
    counted<&LogFile::errors>("Redolab_slow_log_write_errors"),
    counted<&LogFile::short_writes>("Redolab_slow_log_short_writes"),
    counted<&LogFile::dropped>("Redolab_slow_log_dropped"),
    {nullptr, nullptr, SHOW_UNDEF}};

st_mysql_audit audit = {MYSQL_AUDIT_INTERFACE_VERSION,
                        nullptr,
                        notify,
                        {MYSQL_AUDIT_GENERAL_CLASSMASK | MYSQL_AUDIT_CONNECTION_CLASSMASK}};

}  // namespace

/* The sources are under a licence of their own; compiled with the server's headers the plugin is under the GPL. */
maria_declare_plugin(redolab_slow_log){
    MYSQL_AUDIT_PLUGIN,
    &audit,
    "REDOLAB_SLOW_LOG",
    "redolab",
    "A slow query log without a lock",
    PLUGIN_LICENSE_GPL,
    begin,
    end,
    0x0200,
    status,
    variables,
    "2.0",
    MariaDB_PLUGIN_MATURITY_GAMMA,
} maria_declare_plugin_end;
