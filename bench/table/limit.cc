// What the machine needs at least for look-ups (--work lookup) or updates (--work update) of rows
// of --width floats and --slots more: see gather.h. As many rows as the table has, one line of the
// index for every 8 rows, both in huge pages. How it asks for lines ahead is the best of several
// ways, found in each case.

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/table/callers.h"
#include "bench/table/gather.h"
#include "bench/table/huge_array.h"
#include "bench/table/keys.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

constexpr size_t kDistances[] = {4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr size_t kRowsALine = 8;

struct Settings {
  bool update = false;
  size_t rows = 0;
  size_t width = 0;
  size_t slots = 0;
};

// Made once for a number of rows: all cases touch the same memory.
struct Memory {
  explicit Memory(const Settings& s)
      : lines_a_row(LinesOf(s.width + (s.update ? s.slots : 0))),
        index(kLine * (s.rows / kRowsALine + 1)),
        rows(kLine * lines_a_row * s.rows),
        gather{index.data(), rows.data(), lines_a_row, s.width, s.update ? s.slots : 0} {}
  const size_t lines_a_row;
  HugeArray index, rows;
  const GatherMemory gather;
};

class Limit final : public Case {
 public:
  Limit(const Settings& s, const Memory& memory, const KeyCase& c)
      : update_(s.update),
        memory_(memory),
        places_(c, s.rows,
                [&](uint64_t rank) {
                  const uint64_t h = Mix64(rank);
                  return GatherPlace{static_cast<uint32_t>(Mix64(h) % (s.rows / kRowsALine + 1)),
                                     static_cast<uint32_t>(h % s.rows)};
                }),
        callers_(places_.count()) {
    for (Caller& caller : callers_) caller.out.resize(update_ ? 0 : c.batch * s.width);
    Tune();
  }

  Measurement Run() override {
    Measurement measured = places_.Measure(
        [this](size_t caller, const GatherPlace* places) { Touch(caller, places); });
    measured.parts.emplace_back("key", measured.seconds);
    return measured;
  }

  std::string Note() override {
    return fmt::format(
        "asks {} keys ahead in level {} (at best {:.1f} ns in level 1, {:.1f} in level 2), "
        "{} lines a row, {}",
        asking_.ahead, asking_.level, best_[0] * 1e9, best_[1] * 1e9, memory_.lines_a_row,
        HugePageShare());
  }

 private:
  struct alignas(128) Caller {
    std::vector<float> out;
    uint64_t sink = 0;
  };

  void Touch(size_t which, const GatherPlace* places) {
    Caller& caller = callers_[which];
    caller.sink +=
        update_ ? Modify(memory_.gather, places, places_.batch(), asking_)
                : Gather(memory_.gather, places, places_.batch(), asking_, caller.out.data());
  }

  void Tune() {
    best_.fill(1e9);
    std::array<size_t, 2> distance{};
    for (int round = 0; round < 3; ++round) {
      for (size_t l = 0; l < best_.size(); ++l) {
        for (const size_t ahead : kDistances) {
          asking_ = {ahead, static_cast<int>(l) + 1};
          const double seconds = places_.Round(
              [this](size_t caller, const GatherPlace* places) { Touch(caller, places); });
          if (seconds < best_[l]) best_[l] = seconds, distance[l] = ahead;
        }
      }
    }
    const size_t level = best_[0] <= best_[1] ? 0 : 1;
    asking_ = {distance[level], static_cast<int>(level) + 1};
  }

  const bool update_;
  const Memory& memory_;
  Callers<GatherPlace> places_;
  std::vector<Caller> callers_;
  Asking asking_;
  std::array<double, 2> best_{};  // seconds, of each level
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const auto number = [&](const char* name, const char* fallback) {
    return static_cast<size_t>(std::atoll(Option(argc, argv, name, fallback).c_str()));
  };
  const Settings told{Option(argc, argv, "--work", "lookup") == "update",
                      number("--rows", "20000000"), number("--width", "16"),
                      number("--slots", "1")};
  std::unique_ptr<Memory> memory;
  size_t rows = 0;  // of it
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    const KeyCase c(name);
    Settings settings = told;
    settings.rows *= c.times_rows;
    if (rows != settings.rows) {
      memory.reset();
      memory = std::make_unique<Memory>(settings);
      rows = settings.rows;
    }
    return std::make_unique<Limit>(settings, *memory, c);
  });
}
