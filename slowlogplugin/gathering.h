/* Where the records of a thread go: at once to the file, or gathered in its own memory first. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "log_file.h"
#include "record.h"

namespace slowlog {

/* The records that one thread has formatted and not yet written. Its mutex is taken by its own thread, for each record
   where records are gathered, and by flush_all(): two connections never wait for each other. */
class Gathered {
public:
    explicit Gathered(LogFile &file);
    ~Gathered();
    Gathered(const Gathered &) = delete;
    Gathered &operator=(const Gathered &) = delete;

    /* Have a statement logged, at once if `limit` is 0, else when so many bytes have been gathered. */
    void log(const Statement &statement, std::size_t limit);

    /* Write what has been gathered. */
    void flush();

private:
    void write(std::string &lines, std::uint64_t records);

    LogFile &file_;
    Second second_;
    std::string record_;
    std::mutex mutex_;
    std::string lines_;
    std::atomic<std::uint64_t> records_{0};
};

/* Of the thread that calls; what it gathered is written when the thread ends. */
Gathered &gathered_here(LogFile &file);

/* Write what all threads have gathered. */
void flush_all();

}  // namespace slowlog
