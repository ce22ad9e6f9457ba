#include "log_file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace slowlog {

namespace {

constexpr mode_t MODE = 0660;

int opened(const char *path) noexcept {
    int descriptor;
    do {
        descriptor = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, MODE);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace

int LogFile::open(const char *path) noexcept {
    const int descriptor = opened(path);
    if (descriptor < 0) return errno;
    descriptor_ = descriptor;
    cut_off_ = false;
    return 0;
}

int LogFile::reopen(const char *path) noexcept {
    const int next = opened(path);
    if (next < 0) return errno;
    int done;
    do {
        done = ::dup3(next, descriptor_, O_CLOEXEC);
    } while (done < 0 && (errno == EINTR || errno == EBUSY));
    const int error = done < 0 ? errno : 0;
    ::close(next);
    return error;
}

void LogFile::close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

bool LogFile::append(char *data, std::size_t size, std::uint64_t records) noexcept {
    const bool mends = cut_off_.load(std::memory_order_relaxed) && cut_off_.exchange(false);
    if (mends) {
        *--data = '\n';
        size++;
    }
    ssize_t done;
    do {
        done = ::write(descriptor_, data, size);
    } while (done < 0 && errno == EINTR);
    if (done < 0) errors.add(1);
    const std::size_t written = done < 0 ? 0 : static_cast<std::size_t>(done);
    bytes.add(written);
    if (written == size) {
        lines.add(records);
        return true;
    }
    if (done >= 0) short_writes.add(1);
    /* The rest is not written: it would stand behind the records that others have appended meanwhile. */
    if (written > 0 || mends) cut_off_ = true;
    dropped.add(records);
    return false;
}

}  // namespace slowlog
