/* Two orders in which a log was opened anew that lose lines: kept so that the stress test shows that it finds them. */
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace wrong {

inline int opened(const char *path) { return ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0660); }

/* The old file is closed first: until the new one is there its number is free for any other file. */
class CloseThenOpen {
public:
    int open(const char *path) { return (descriptor_ = opened(path)) < 0 ? errno : 0; }
    int reopen(const char *path) {
        ::close(descriptor_);
        return (descriptor_ = opened(path)) < 0 ? errno : 0;
    }
    void close() { ::close(descriptor_); }
    bool append(char *data, std::size_t size, std::uint64_t) {
        return ::write(descriptor_, data, size) == static_cast<ssize_t>(size);
    }

private:
    std::atomic<int> descriptor_{-1};
};

/* Users of the descriptor are counted, and waited for before the new one is in place: who comes in between has the old
   one, which is closed then. (The order of S. Smith's first version, 2012.) */
class CountThenSwap {
public:
    int open(const char *path) { return (descriptor_ = opened(path)) < 0 ? errno : 0; }
    int reopen(const char *path) {
        while (users_ > 0) std::this_thread::yield();
        const int next = opened(path);
        if (next < 0) return errno;
        ::close(descriptor_.exchange(next));
        return 0;
    }
    void close() { ::close(descriptor_); }
    bool append(char *data, std::size_t size, std::uint64_t) {
        users_++;
        const int descriptor = descriptor_;
        /* As where the thread loses its processor here. */
        std::this_thread::yield();
        const bool written = ::write(descriptor, data, size) == static_cast<ssize_t>(size);
        users_--;
        /* As where a connection has other things to do: else somebody is always counted. */
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        return written;
    }

private:
    std::atomic<int> descriptor_{-1};
    std::atomic<int> users_{0};
};

}  // namespace wrong
