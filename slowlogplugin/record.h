/* One statement as a record of MariaDB's slow query log. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace slowlog {

struct Statement {
    std::string_view user_host; /* as in root[root] @ localhost [] */
    std::uint64_t thread_id = 0;
    std::string_view schema;
    bool from_query_cache = false;
    std::uint64_t query_us = 0; /* microseconds */
    std::uint64_t lock_us = 0;
    std::uint64_t rows_sent = 0;
    std::uint64_t rows_examined = 0;
    std::uint64_t rows_affected = 0;
    std::uint64_t bytes_sent = 0;
    std::time_t stamp = 0; /* as the server's own log has it */
    std::string_view text;
};

/* The second of the last record as text: a second is put into words once a thread. */
class Second {
public:
    std::string_view text(std::time_t second);

private:
    std::time_t second_ = -1;
    char text_[32] = "";
    std::size_t length_ = 0;
};

/* Append a statement's record to `to`. Each has its time and its schema: which record is before it in the file is not
   known where nobody waits for the others. */
void format(const Statement &statement, Second &second, std::string &to);

}  // namespace slowlog
