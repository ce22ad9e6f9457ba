#define MYSQL_SERVER 1
#include <my_global.h>

#include <sql_class.h>
#include <sql_parse.h>

#include "session.h"

namespace slowlog {

namespace {

constexpr char COMPILED_FOR[] = MYSQL_SERVER_VERSION MYSQL_SERVER_SUFFIX_DEF;

/* Decide as log_slow_statement() in sql/sql_parse.cc, which runs after the audit plugins, but without slow_query_log. */
bool is_logged(const THD &thd) {
    if (thd.in_sub_stmt || !thd.enable_slow_log) return false;
    const auto &variables = thd.variables;
    auto plan = thd.query_plan_flags;
    bool slow = (thd.server_status & SERVER_QUERY_WAS_SLOW) != 0;
    if ((thd.server_status & (SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED)) && !(plan & QPLAN_STATUS) &&
        (variables.log_slow_filter & QPLAN_NOT_USING_INDEX)) {
        plan |= QPLAN_NOT_USING_INDEX;
        slow = true;
    }
    if (!slow) return false;
    if (thd.get_examined_row_count() < variables.min_examined_row_limit) return false;
    if ((plan & QPLAN_ADMIN) && (variables.log_slow_disabled_statements & LOG_SLOW_DISABLE_ADMIN)) return false;
    if (variables.log_slow_rate_limit > 1 && global_query_id % variables.log_slow_rate_limit != 0) return false;
    return variables.log_slow_filter == 0 || (variables.log_slow_filter & plan) != 0;
}

}  // namespace

std::string wrong_server() {
    const std::string here = server_version;
    const std::size_t length = sizeof COMPILED_FOR - 1;
    /* A server that logs adds "-log", one of Debian 13 " from Debian". */
    const bool begins = here.compare(0, length, COMPILED_FOR) == 0;
    if (begins && (here.size() == length || here[length] == '-' || here[length] == ' ')) return "";
    return std::string("it was compiled for ") + COMPILED_FOR + ", and this is " + here;
}

bool read_statement(const THD &thd, Statement &statement) {
    /* The server logs these commands by name: Quit, Init DB. */
    if (thd.query() == nullptr || thd.query_length() == 0 || thd.get_command() == COM_STMT_PREPARE) return false;
    if (!is_logged(thd)) return false;
    const std::uint64_t began = thd.start_utime;
    statement.thread_id = thd.thread_id;
    statement.schema = {thd.db.str == nullptr ? "" : thd.db.str, thd.db.str == nullptr ? 0 : thd.db.length};
    statement.from_query_cache = (thd.query_plan_flags & QPLAN_QC) != 0;
    statement.query_us = thd.utime_after_query - began;
    statement.lock_us = thd.utime_after_lock - began;
    statement.rows_sent = thd.get_sent_row_count();
    statement.rows_examined = thd.get_examined_row_count();
    statement.rows_affected = thd.get_affected_rows();
    statement.bytes_sent = thd.status_var.bytes_sent - thd.bytes_sent_old;
    statement.stamp = thd.start_time;
    statement.text = {thd.query(), thd.query_length()};
    return true;
}

}  // namespace slowlog
