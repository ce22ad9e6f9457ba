#include "gathering.h"

#include <algorithm>
#include <vector>

namespace slowlog {

namespace {

/* What a thread keeps of its memory after a statement that was longer. */
constexpr std::size_t KEPT = 1 << 20;
/* Before the first record, for the newline that LogFile::append may need. */
constexpr std::size_t SPARE = 1;

std::mutex all_mutex;
std::vector<Gathered *> &all() {
    /* Never destroyed: threads may end after the objects of this library. */
    static auto *const threads = new std::vector<Gathered *>;
    return *threads;
}

}  // namespace

Gathered::Gathered(LogFile &file) : file_(file), record_(SPARE, '\n'), lines_(SPARE, '\n') {
    const std::lock_guard<std::mutex> lock(all_mutex);
    all().push_back(this);
}

Gathered::~Gathered() {
    {
        const std::lock_guard<std::mutex> lock(all_mutex);
        all().erase(std::find(all().begin(), all().end(), this));
    }
    flush();
}

void Gathered::log(const Statement &statement, std::size_t limit) {
    record_.resize(SPARE);
    format(statement, second_, record_);
    if (limit == 0) {
        /* The limit was lowered while something was gathered. */
        if (records_.load(std::memory_order_relaxed) > 0) flush();
        write(record_, 1);
        return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.append(record_, SPARE, std::string::npos);
    records_.fetch_add(1, std::memory_order_relaxed);
    if (lines_.size() - SPARE >= limit) write(lines_, records_.exchange(0, std::memory_order_relaxed));
}

void Gathered::flush() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uint64_t records = records_.exchange(0, std::memory_order_relaxed);
    if (records > 0) write(lines_, records);
}

void Gathered::write(std::string &lines, std::uint64_t records) {
    if (file_.is_open())
        file_.append(lines.data() + SPARE, lines.size() - SPARE, records);
    else
        file_.dropped.add(records);
    lines.resize(SPARE);
    if (lines.capacity() > KEPT) std::string(SPARE, '\n').swap(lines);
}

Gathered &gathered_here(LogFile &file) {
    thread_local Gathered here(file);
    return here;
}

void flush_all() {
    const std::lock_guard<std::mutex> lock(all_mutex);
    for (Gathered *each : all()) each->flush();
}

}  // namespace slowlog
