/* A log on a pipe whose reader stalls, as a disk that does not answer: who waits for it, and what a short write leaves. */

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "gathering.h"
#include "log_file.h"

namespace {

using slowlog::Gathered;
using slowlog::LogFile;

constexpr int PIPE = 4096;
constexpr unsigned PATIENCE = 20;

int failed = 0;

void check(const char *what, bool is_so) {
    if (is_so) return;
    std::fprintf(stderr, "not so: %s\n", what);
    failed++;
}

/* A pipe with room for PIPE bytes, which the log is written to. */
class Stalled {
public:
    Stalled() : name_("/tmp/slowlog-pipe-" + std::to_string(::getpid())) {
        if (::mkfifo(name_.c_str(), 0600) != 0) std::abort();
        reader_ = ::open(name_.c_str(), O_RDONLY | O_NONBLOCK);
        if (file.open(name_.c_str()) != 0 || ::fcntl(reader_, F_SETPIPE_SZ, PIPE) != PIPE) std::abort();
    }
    ~Stalled() {
        ::close(reader_);
        ::unlink(name_.c_str());
    }

    void wait_until_full() const {
        int there = 0;
        while (there < PIPE) {
            ::ioctl(reader_, FIONREAD, &there);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    std::string read() const {
        std::string all(1 << 20, '\0');
        const ssize_t length = ::read(reader_, all.data(), all.size());
        all.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
        return all;
    }

    LogFile file;

private:
    std::string name_;
    int reader_;
};

void nobody_waits_for_a_flush() {
    Stalled log;
    Gathered busy(log.file);
    const std::string text(2 * PIPE, 'x');
    slowlog::Statement statement;
    statement.text = text;
    busy.log(statement, 1 << 20);
    std::atomic<bool> flushed{false};
    std::thread flushing([&] {
        slowlog::flush_all(log.file);
        flushed = true;
    });
    log.wait_until_full();
    {
        /* A connection that begins, logs and ends, and one that goes on logging. */
        Gathered other(log.file);
    }
    busy.log(statement, 1 << 20);
    check("the flush still waits for the disk", !flushed);
    while (!flushed) log.read();
    flushing.join();
    std::thread last([&] { busy.flush(); });
    while (log.file.lines.sum() < 2) log.read();
    last.join();
}

void a_short_write_is_not_continued() {
    Stalled log;
    struct sigaction interrupts {};
    interrupts.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &interrupts, nullptr);
    std::string first(3 * PIPE, 'a'), second = "\nsecond\n";
    bool written = true;
    std::thread writer([&] { written = log.file.append(first.data() + 1, first.size() - 1, 1); });
    log.wait_until_full();
    ::pthread_kill(writer.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::string before = log.read();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    check("nothing follows a short write", log.read().empty());
    while (!log.read().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    writer.join();
    check("a short write fails", !written && before == std::string(PIPE, 'a'));
    check("it is counted", log.file.dropped.sum() == 1 && log.file.short_writes.sum() == 1);
    log.file.append(second.data() + 1, second.size() - 1, 1);
    check("the next record begins a line", log.read() == "\nsecond\n");
}

}  // namespace

int main() {
    /* What waits for ever ends here. */
    ::alarm(PATIENCE);
    nobody_waits_for_a_flush();
    a_short_write_is_not_continued();
    return failed > 0;
}
