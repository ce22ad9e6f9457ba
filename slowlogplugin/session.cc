#include "session.h"

#include <cstring>

#include "server_layout.h"

extern "C" {
/* Functions of the server, by the names that its compiler gave them. */
[[gnu::weak]] void *find_variable(const char *name, std::size_t length) __asm__("_Z19intern_find_sys_varPKcm");
[[gnu::weak]] unsigned char *place_in_session(const void *variable, void *thd, const void *base) __asm__(
    "_ZNK7sys_var17session_value_ptrEP3THDPK25st_mysql_const_lex_string");
}

namespace slowlog {

namespace {

constexpr unsigned long FROM_QUERY_CACHE = 0x80;
constexpr double MICROSECONDS = 1e6;

/* Where the session's own values lie in a THD. */
std::ptrdiff_t long_query_time_at;
std::ptrdiff_t examined_limit_at;

template <typename Type>
Type at(const void *thd, std::ptrdiff_t place) {
    Type value;
    std::memcpy(&value, static_cast<const char *>(thd) + place, sizeof value);
    return value;
}

std::uint64_t hashed(const unsigned char *code, std::size_t size) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (std::size_t place = 0; place < size; place++) hash = (hash ^ code[place]) * 0x100000001b3U;
    return hash;
}

/* Where a session's value of a variable lies in its THD; negative if there is no such variable. */
std::ptrdiff_t place_of(const char *name) {
    if (find_variable == nullptr || place_in_session == nullptr) return -1;
    const void *const variable = find_variable(name, std::strlen(name));
    if (variable == nullptr) return -1;
    /* It adds to the address and reads nothing there. */
    unsigned char somewhere;
    return place_in_session(variable, &somewhere, nullptr) - &somewhere;
}

/* As the built-in log of MariaDB 10.11 and later has it by default: no commands without a statement, as Quit, nothing that
   is only prepared, nothing within a stored routine. */
bool is_logged(const void *thd, const server::GeneralEvent &event) {
    static constexpr char PREPARE[] = "Prepare";
    const bool prepares = event.command_length == sizeof PREPARE - 1 &&
                          std::memcmp(event.command, PREPARE, sizeof PREPARE - 1) == 0;
    return event.query != nullptr && event.query_length > 0 && !prepares &&
           at<const void *>(thd, layout::ROUTINE) == nullptr;
}

}  // namespace

std::string check_server() {
    for (const layout::Code &code : layout::CODE) {
        if (code.there == nullptr || hashed(code.there, code.size) != code.hash)
            return std::string("it was built for MariaDB ") + layout::SERVER + ", and this is another server";
    }
    long_query_time_at = place_of("long_query_time");
    examined_limit_at = place_of("min_examined_row_limit");
    if (long_query_time_at < 0 || examined_limit_at < 0) return "the server has no long_query_time";
    return "";
}

bool read_statement(const void *thd, const server::GeneralEvent &event, Statement &statement, bool &matches) {
    matches = at<unsigned long>(thd, layout::THREAD_ID) == event.thread_id &&
              at<const char *>(thd, layout::SCHEMA) == event.database.data;
    if (!matches || !is_logged(thd, event)) return false;
    const auto began = at<std::uint64_t>(thd, layout::START_UTIME);
    const auto locked = at<std::uint64_t>(thd, layout::UTIME_AFTER_LOCK);
    const auto ended = at<std::uint64_t>(thd, layout::UTIME_AFTER_QUERY);
    const auto limit = static_cast<std::uint64_t>(at<double>(thd, long_query_time_at) * MICROSECONDS);
    if (ended < locked + limit) return false;
    statement.rows_examined = at<std::uint64_t>(thd, layout::ROWS_EXAMINED);
    if (statement.rows_examined < at<unsigned long>(thd, examined_limit_at)) return false;

    statement.query_us = ended > began ? ended - began : 0;
    statement.lock_us = locked > began ? locked - began : 0;
    statement.rows_sent = at<std::uint64_t>(thd, layout::ROWS_SENT);
    statement.rows_affected = at<std::uint64_t>(thd, layout::ROWS_AFFECTED);
    statement.bytes_sent = at<std::uint64_t>(thd, layout::BYTES_SENT) - at<std::uint64_t>(thd, layout::BYTES_SENT_OLD);
    statement.from_query_cache = (at<unsigned long>(thd, layout::QUERY_PLAN) & FROM_QUERY_CACHE) != 0;
    const auto begun_us = at<std::uint64_t>(thd, layout::START_MICROSECOND);
    statement.ended = at<std::time_t>(thd, layout::START_SECOND) +
                      static_cast<std::time_t>((begun_us + statement.query_us) / static_cast<std::uint64_t>(MICROSECONDS));

    statement.user_host = {event.user, event.user_length};
    statement.thread_id = event.thread_id;
    statement.schema = {event.database.data == nullptr ? "" : event.database.data,
                        event.database.data == nullptr ? 0 : event.database.length};
    statement.text = {event.query, event.query_length};
    return true;
}

}  // namespace slowlog
