// table/memory/epochs.h
//
// When may memory that readers might still be looking at be used for something else? A reader holds
// an Epochs::Guard while it looks. A writer that has taken something out of sight asks for a Stamp;
// once Passed(stamp) all readers that could have seen it are gone.
//
//   reader                                writer
//   Epochs::Guard guard(epochs);          publish the new one
//   … follow pointers …                   stamp = epochs.Retire()
//                                         … later: if (epochs.Passed(stamp)) free the old one
//
// Readers need no registration and take no lock: a guard claims one of a fixed number of slots by
// one atomic exchange. With more guards at once than slots the later ones wait for a slot, so a
// thread holds one or two.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace catamaran {

class Epochs {
 public:
  using Stamp = uint64_t;
  static constexpr int kSlots = 1024;

  // Keep it short: what is retired meanwhile stays.
  class Guard {
   public:
    explicit Guard(Epochs& epochs) : slot_(epochs.Enter()) {}
    ~Guard() { slot_->store(0, std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::atomic<uint64_t>* slot_;
  };

  Epochs() = default;
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;

  // The moment of now, for what the caller has just taken out of sight.
  Stamp Retire() { return now_.fetch_add(1, std::memory_order_seq_cst); }

  // Whether every guard that began before `stamp` is gone.
  bool Passed(Stamp stamp) const;

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch = 0;  // when its guard began; 0: free
  };

  std::atomic<uint64_t>* Enter();

  alignas(64) std::atomic<uint64_t> now_ = 1;
  // All slots that ever were claimed are below this.
  alignas(64) std::atomic<int> used_slots_ = 0;
  std::array<Slot, kSlots> slots_;
};

}  // namespace catamaran
