/* A file that many threads append to without a lock, and that can be opened anew under them.

   A record is one write() on a descriptor opened with O_APPEND: the kernel puts it behind all others. A write that falls
   short, as on a full disk, is not continued, so no record ever stands within another. The descriptor's number never
   changes while the log is open. Opening anew puts the new file behind that number by dup3(), which is atomic: at no
   moment is the number free, so nobody else's open() can be given it, and a write that has begun goes on in the file that
   it began in. So nobody needs to know how many are writing, and nobody waits. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "counter.h"

namespace slowlog {

class LogFile {
public:
    LogFile() = default;
    LogFile(const LogFile &) = delete;
    LogFile &operator=(const LogFile &) = delete;
    ~LogFile() { close(); }

    /* Open `path`, made if it is not there; 0 or the errno. Not beside reopen() or close() of another thread. */
    int open(const char *path) noexcept;

    /* From now on append to what is called `path` now; 0, or the errno, and then the file that was open stays. Not
       beside another open(), reopen() or close(). */
    int reopen(const char *path) noexcept;

    /* Close it. No thread may be appending any more. */
    void close() noexcept;

    bool is_open() const noexcept { return descriptor_ >= 0; }

    /* Append `records` records of `size` bytes from `data` on. data[-1] must be the caller's to write to: a newline is
       put there where the record before was cut off. False if it could not be written; that is counted. */
    bool append(char *data, std::size_t size, std::uint64_t records) noexcept;

    Counter lines;        /* records that were written whole */
    Counter bytes;        /* bytes that were written */
    Counter errors;       /* writes that ended with an error */
    Counter short_writes; /* writes that wrote a part: the rest was dropped */
    Counter dropped;      /* records that are not in the file, or not whole */

private:
    int descriptor_ = -1;
    /* The file ends within a record, so that the next has to begin with a newline. */
    std::atomic<bool> cut_off_{false};
};

}  // namespace slowlog
