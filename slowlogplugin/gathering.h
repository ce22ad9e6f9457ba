/* Where the records of a thread go: at once to the file, or gathered in its own memory first. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "log_file.h"
#include "record.h"

namespace slowlog {

/* Records of one thread that are not written yet. Nobody writes to a file while holding the mutex: whoever writes takes
   the records out first. */
class Pending {
public:
    bool any() const noexcept { return records_.load(std::memory_order_relaxed) > 0; }

    /* Add a record, and return the bytes that are pending then. */
    std::size_t add(const char *record, std::size_t size);

    /* Move all records to `lines`, in exchange for its memory, and return how many they are. */
    std::uint64_t take(std::string &lines);

private:
    std::mutex mutex_;
    std::string lines_;
    std::atomic<std::uint64_t> records_{0};
};

/* The records of one thread, which alone uses it; flush_all() takes what is pending from any thread. */
class Gathered {
public:
    explicit Gathered(LogFile &file);
    ~Gathered();
    Gathered(const Gathered &) = delete;
    Gathered &operator=(const Gathered &) = delete;

    /* Log a statement: write it at once if `limit` is 0, else once that many bytes are pending. */
    void log(const Statement &statement, std::size_t limit);

    /* Write what is pending. */
    void flush();

private:
    LogFile &file_;
    Second second_;
    std::string record_;
    std::string taken_;
    std::shared_ptr<Pending> pending_;
};

/* Return the calling thread's own; what is pending is written when the thread ends. */
Gathered &gathered_here(LogFile &file);

/* Write what is pending in all threads. No thread waits for that. */
void flush_all(LogFile &file);

}  // namespace slowlog
