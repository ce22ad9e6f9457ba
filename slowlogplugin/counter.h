/* A sum that many threads add to, each to a cache line that it shares with few others. */
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace slowlog {

class Counter {
public:
    void add(std::uint64_t n) noexcept { own().value.fetch_add(n, std::memory_order_relaxed); }

    std::uint64_t sum() const noexcept {
        std::uint64_t all = 0;
        for (const Slot &slot : slots_) all += slot.value.load(std::memory_order_relaxed);
        return all;
    }

private:
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> value{0};
    };
    static constexpr std::size_t SLOTS = 32;

    Slot &own() noexcept {
        static std::atomic<std::size_t> threads{0};
        thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % SLOTS;
        return slots_[mine];
    }

    std::array<Slot, SLOTS> slots_;
};

}  // namespace slowlog
