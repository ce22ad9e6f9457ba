/* Records as they stand in the file. */

#include <cstdio>
#include <cstdlib>
#include <string>

#include "record.h"

namespace {

int failed = 0;

void check(const char *what, const std::string &is, const std::string &should) {
    if (is == should) return;
    std::fprintf(stderr, "%s is\n%s\nand should be\n%s\n", what, is.c_str(), should.c_str());
    failed++;
}

std::string formatted(const slowlog::Statement &statement) {
    slowlog::Second second;
    std::string to;
    format(statement, second, to);
    return to;
}

}  // namespace

int main() {
    setenv("TZ", "UTC", 1);
    slowlog::Statement statement;
    statement.user_host = "root[root] @ localhost []";
    statement.thread_id = 3;
    statement.schema = "a`b";
    statement.query_us = 12000345;
    statement.lock_us = 78;
    statement.rows_sent = 1;
    statement.rows_examined = 18446744073709551615U;
    statement.rows_affected = 2;
    statement.bytes_sent = 11;
    statement.stamp = 1795552334;
    statement.text = "select 1";
    check("a statement", formatted(statement),
          "# Time: 261124 20:32:14\n# User@Host: root[root] @ localhost []\n# Thread_id: 3  Schema: a`b  QC_hit: No\n"
          "# Query_time: 12.000345  Lock_time: 0.000078  Rows_sent: 1  Rows_examined: 18446744073709551615\n"
          "# Rows_affected: 2  Bytes_sent: 11\nuse `a``b`;\nSET timestamp=1795552334;\nselect 1;\n");
    statement.schema = "";
    statement.text = "select 2";
    statement.stamp = 3;
    statement.from_query_cache = true;
    statement.query_us = 0;
    statement.rows_examined = 0;
    check("without a schema", formatted(statement),
          "# Time: 700101  0:00:03\n# User@Host: root[root] @ localhost []\n# Thread_id: 3  Schema:   QC_hit: Yes\n"
          "# Query_time: 0.000000  Lock_time: 0.000078  Rows_sent: 1  Rows_examined: 0\n"
          "# Rows_affected: 2  Bytes_sent: 11\nSET timestamp=3;\nselect 2;\n");
    slowlog::Second second;
    check("a second", std::string(second.text(1)) + std::string(second.text(2)) + std::string(second.text(2)),
          "700101  0:00:01700101  0:00:02700101  0:00:02");
    return failed > 0;
}
