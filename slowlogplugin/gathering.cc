#include "gathering.h"

#include <algorithm>
#include <vector>

namespace slowlog {

namespace {

/* What a thread keeps of its memory after a statement that was longer. */
constexpr std::size_t KEPT = 1 << 20;
/* Before the first record, for the newline that LogFile::append may need. */
constexpr std::size_t SPARE = 1;

using Threads = std::vector<std::shared_ptr<Pending>>;

std::mutex all_mutex;
Threads &all() {
    /* Never destroyed: threads may end after the objects of this library. */
    static auto *const threads = new Threads;
    return *threads;
}

/* Write records, and leave `lines` empty. */
void write(LogFile &file, std::string &lines, std::uint64_t records) {
    if (records > 0) {
        if (file.is_open())
            file.append(lines.data() + SPARE, lines.size() - SPARE, records);
        else
            file.dropped.add(records);
    }
    lines.clear();
    if (lines.capacity() > KEPT) std::string().swap(lines);
}

}  // namespace

std::size_t Pending::add(const char *record, std::size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lines_.empty()) lines_.assign(SPARE, '\n');
    lines_.append(record, size);
    records_.fetch_add(1, std::memory_order_relaxed);
    return lines_.size() - SPARE;
}

std::uint64_t Pending::take(std::string &lines) {
    lines.clear();
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.swap(lines);
    return records_.exchange(0, std::memory_order_relaxed);
}

Gathered::Gathered(LogFile &file) : file_(file), pending_(std::make_shared<Pending>()) {
    const std::lock_guard<std::mutex> lock(all_mutex);
    all().push_back(pending_);
}

Gathered::~Gathered() {
    {
        const std::lock_guard<std::mutex> lock(all_mutex);
        all().erase(std::find(all().begin(), all().end(), pending_));
    }
    flush();
}

void Gathered::log(const Statement &statement, std::size_t limit) {
    record_.assign(SPARE, '\n');
    format(statement, second_, record_);
    if (limit == 0) {
        /* The limit was lowered while something was gathered. */
        if (pending_->any()) flush();
        write(file_, record_, 1);
        return;
    }
    if (pending_->add(record_.data() + SPARE, record_.size() - SPARE) >= limit) flush();
    if (record_.capacity() > KEPT) std::string().swap(record_);
}

void Gathered::flush() { write(file_, taken_, pending_->take(taken_)); }

Gathered &gathered_here(LogFile &file) {
    thread_local Gathered here(file);
    return here;
}

void flush_all(LogFile &file) {
    Threads threads;
    {
        const std::lock_guard<std::mutex> lock(all_mutex);
        threads = all();
    }
    std::string lines;
    for (const std::shared_ptr<Pending> &each : threads) write(file, lines, each->take(lines));
}

}  // namespace slowlog
