#include "record.h"

#include <charconv>
#include <cstdio>

namespace slowlog {

namespace {

constexpr std::uint64_t MICROSECONDS = 1000000;

void number(std::string &to, std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    to.append(digits, static_cast<std::size_t>(end - digits));
}

void seconds(std::string &to, std::uint64_t microseconds) {
    number(to, microseconds / MICROSECONDS);
    char decimals[] = ".000000";
    std::uint64_t rest = microseconds % MICROSECONDS;
    for (std::size_t place = 6; place > 0; place--) {
        decimals[place] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    to.append(decimals, 7);
}

void quoted(std::string &to, std::string_view name) {
    to += '`';
    for (const char each : name) {
        if (each == '`') to += '`';
        to += each;
    }
    to += '`';
}

}  // namespace

std::string_view Second::text(std::time_t second) {
    if (second != second_) {
        std::tm at{};
        localtime_r(&second, &at);
        const int length = std::snprintf(text_, sizeof text_, "%02d%02d%02d %2d:%02d:%02d", at.tm_year % 100,
                                         at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
        length_ = length < 0 ? 0 : static_cast<std::size_t>(length);
        second_ = second;
    }
    return {text_, length_};
}

void format(const Statement &statement, Second &second, std::string &to) {
    to.append("# Time: ").append(second.text(statement.stamp));
    to.append("\n# User@Host: ").append(statement.user_host);
    to.append("\n# Thread_id: ");
    number(to, statement.thread_id);
    to.append("  Schema: ").append(statement.schema);
    to.append("  QC_hit: ").append(statement.from_query_cache ? "Yes" : "No");
    to.append("\n# Query_time: ");
    seconds(to, statement.query_us);
    to.append("  Lock_time: ");
    seconds(to, statement.lock_us);
    to.append("  Rows_sent: ");
    number(to, statement.rows_sent);
    to.append("  Rows_examined: ");
    number(to, statement.rows_examined);
    to.append("\n# Rows_affected: ");
    number(to, statement.rows_affected);
    to.append("  Bytes_sent: ");
    number(to, statement.bytes_sent);
    if (!statement.schema.empty()) {
        to.append("\nuse ");
        quoted(to, statement.schema);
        to += ';';
    }
    to.append("\nSET timestamp=");
    number(to, static_cast<std::uint64_t>(statement.stamp < 0 ? 0 : statement.stamp));
    to.append(";\n").append(statement.text).append(";\n");
}

}  // namespace slowlog
