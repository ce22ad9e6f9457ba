/* Threads append numbered records while one opens the log anew as fast as it can and others open and close files of their
   own. Afterwards every record must stand in one of the log's files once, whole, and in no other file.

   stress kept|gathered|close-then-open|count-then-swap SECONDS; exit status 1 if anything was found, 2 for bad use. */

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "gathering.h"
#include "log_file.h"
#include "record.h"
#include "wrong_orders.h"

namespace {

namespace fs = std::filesystem;
using slowlog::Gathered;
using slowlog::LogFile;
using slowlog::Statement;

constexpr unsigned WRITERS = 8;
constexpr unsigned STRANGERS = 2;
constexpr std::size_t GATHERED = 4096;
constexpr auto BETWEEN = std::chrono::microseconds(200);
const std::string FOREIGN(500, 'f');

/* A record that says which it is, and is of a length of its own. */
std::string record(unsigned writer, std::uint64_t number, const std::function<void(const Statement &)> &use) {
    const std::string text = "select " + std::to_string(writer) + " " + std::to_string(number) + " '" +
                             std::string((writer * 31 + number * 7) % 300, 'x') + "'";
    Statement statement;
    statement.user_host = "root[root] @ localhost []";
    statement.thread_id = writer;
    statement.schema = "shop";
    statement.rows_examined = number;
    statement.text = text;
    use(statement);
    slowlog::Second second;
    std::string whole;
    format(statement, second, whole);
    return whole;
}

/* One way of logging: each thread asks for its own `logger`, and has it end in its own. */
struct Log {
    std::function<int(const char *)> open, reopen;
    std::function<std::function<void(const Statement &)>()> logger;
    std::function<void()> finish;
};

template <typename File>
Log plain(File &file) {
    const auto logger = [&file] {
        return [&file, line = std::string(), second = slowlog::Second()](const Statement &statement) mutable {
            line.assign(1, '\n');
            format(statement, second, line);
            file.append(line.data() + 1, line.size() - 1, 1);
        };
    };
    return {[&file](const char *path) { return file.open(path); },
            [&file](const char *path) { return file.reopen(path); }, logger, [&file] { file.close(); }};
}

Log gathered(LogFile &file) {
    Log log = plain(file);
    log.reopen = [&file](const char *path) {
        slowlog::flush_all(file);
        return file.reopen(path);
    };
    log.logger = [&file] {
        return [own = std::make_shared<Gathered>(file)](const Statement &statement) { own->log(statement, GATHERED); };
    };
    return log;
}

struct Found {
    std::uint64_t written = 0, files = 0, lost = 0, torn = 0, twice = 0, foreign = 0;
    bool any() const { return lost + torn + twice + foreign > 0; }
};

std::string content(const fs::path &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/* Go through a file's records. */
void read(const fs::path &path, std::vector<std::vector<bool>> &seen, Found &found) {
    const std::string all = content(path);
    const std::string begins = "# Time: ";
    std::size_t place = 0;
    while (place < all.size()) {
        std::size_t next = all.find("\n" + begins, place);
        next = next == std::string::npos ? all.size() : next + 1;
        const std::string piece = all.substr(place, next - place);
        place = next;
        unsigned writer = 0;
        unsigned long long number = 0;
        const std::size_t text = piece.find("\nselect ");
        const bool named = text != std::string::npos &&
                           std::sscanf(piece.c_str() + text, "\nselect %u %llu", &writer, &number) == 2 &&
                           writer < WRITERS && number < seen[writer].size();
        if (!named || piece != record(writer, number, [](const Statement &) {}))
            found.torn++;
        else if (seen[writer][number])
            found.twice++;
        else
            seen[writer][number] = true;
    }
}

/* Open, write, read back and close a file of one's own, again and again. */
std::uint64_t strange(const fs::path &path, const std::atomic<bool> &over) {
    std::uint64_t found = 0;
    std::string back(FOREIGN.size() + 4096, '\0');
    while (!over) {
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (descriptor < 0) continue;
        const ssize_t written = ::write(descriptor, FOREIGN.data(), FOREIGN.size());
        std::this_thread::sleep_for(BETWEEN);
        const ssize_t length = ::pread(descriptor, back.data(), back.size(), 0);
        ::close(descriptor);
        if (written != static_cast<ssize_t>(FOREIGN.size()) || length != written ||
            std::memcmp(back.data(), FOREIGN.data(), FOREIGN.size()) != 0)
            found++;
    }
    return found;
}

Found stress(Log &log, const fs::path &folder, double seconds) {
    const fs::path current = folder / "slow.log";
    Found found;
    if (log.open(current.c_str()) != 0) std::abort();
    std::atomic<bool> over{false}, written{false};
    std::vector<std::uint64_t> counts(WRITERS);
    std::vector<std::uint64_t> strangers(STRANGERS);
    std::vector<std::thread> writers, others;
    for (unsigned writer = 0; writer < WRITERS; writer++)
        writers.emplace_back([&, writer] {
            auto own = log.logger();
            while (!over) record(writer, counts[writer]++, own);
        });
    for (unsigned stranger = 0; stranger < STRANGERS; stranger++)
        others.emplace_back([&, stranger] {
            strangers[stranger] = strange(folder / ("foreign" + std::to_string(stranger)), written);
        });
    others.emplace_back([&] {
        while (!written) {
            fs::rename(current, folder / ("slow.log." + std::to_string(found.files)));
            found.files++;
            if (log.reopen(current.c_str()) != 0) std::abort();
            std::this_thread::sleep_for(BETWEEN);
        }
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    over = true;
    for (std::thread &each : writers) each.join();
    written = true;
    for (std::thread &each : others) each.join();
    log.finish();

    std::vector<std::vector<bool>> seen;
    for (const std::uint64_t count : counts) {
        seen.emplace_back(count);
        found.written += count;
    }
    for (std::uint64_t number = 0; number < found.files; number++)
        read(folder / ("slow.log." + std::to_string(number)), seen, found);
    read(current, seen, found);
    for (const auto &of_writer : seen)
        for (const bool each : of_writer) found.lost += !each;
    for (const std::uint64_t each : strangers) found.foreign += each;
    return found;
}

}  // namespace

int main(int count, char **arguments) {
    LogFile kept;
    wrong::CloseThenOpen close_then_open;
    wrong::CountThenSwap count_then_swap;
    std::map<std::string, Log> logs = {{"kept", plain(kept)},
                                       {"gathered", gathered(kept)},
                                       {"close-then-open", plain(close_then_open)},
                                       {"count-then-swap", plain(count_then_swap)}};
    const double seconds = count == 3 ? std::atof(arguments[2]) : 0;
    const auto log = count == 3 ? logs.find(arguments[1]) : logs.end();
    if (log == logs.end() || seconds <= 0) {
        std::fprintf(stderr, "usage: stress kept|gathered|close-then-open|count-then-swap SECONDS\n");
        return 2;
    }
    std::string name = (fs::temp_directory_path() / "slowlog-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        std::perror("mkdtemp");
        return 2;
    }
    const Found found = stress(log->second, name, seconds);
    fs::remove_all(name);
    std::printf("%s: %llu records in %llu files; lost %llu, torn %llu, twice %llu, in a foreign file %llu\n", arguments[1],
                static_cast<unsigned long long>(found.written), static_cast<unsigned long long>(found.files + 1),
                static_cast<unsigned long long>(found.lost), static_cast<unsigned long long>(found.torn),
                static_cast<unsigned long long>(found.twice), static_cast<unsigned long long>(found.foreign));
    return found.any() || found.files < 2 || found.written == 0 ? 1 : 0;
}
