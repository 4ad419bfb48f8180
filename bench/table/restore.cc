// A table of --rows rows from its commit, as a restart has it: until every key resolves, and until
// all rows are in memory. Nothing of the files is in memory before.

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/table/disk.h"
#include "bench/table/keys.h"
#include "bench/table/live_table.h"
#include "bench/table/own_process.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"

namespace catamaran::bench {
namespace {

class RestoreCase final : public Case {
 public:
  explicit RestoreCase(uint64_t rows) : rows_(rows), state_(directory_.path() + "/state") {
    InOwnProcess([&] {
      LiveTable live("");
      FillTable(live.table(), 0, rows_);
      live.BeginCommits(state_);
      live.commits().Commit();
      live.EndCommits();
      return Measurement{};
    });
  }

  Measurement Run() override {
    const auto bytes = static_cast<double>(BytesBelow(state_));
    const double disk = ReadSeconds(state_);
    ForgetCached(state_);
    const Measurement all = InOwnProcess([&] { return RestoreAll(); });
    ForgetCached(state_);
    Measurement m = InOwnProcess([&] { return RestoreLater(); });
    const double moved = m.parts.back().second;
    m.parts.insert(m.parts.end(), {{"all_seconds", all.seconds},
                                   {"all_gbs", bytes / all.seconds * 1e-9},
                                   {"moved_gbs", bytes / moved * 1e-9},
                                   {"disk_gbs", bytes / disk * 1e-9},
                                   {"disk_share", disk / all.seconds}});
    return m;
  }

  std::string Note() override { return "the state lies on the disk of temporary files"; }

 private:
  // Everything is verified and in memory when the state is there.
  Measurement RestoreAll() const {
    const Program program = LiveProgram("");
    const double begin = Now();
    LoadedState loaded = LoadState(PosixFileSystem(), state_, program, LoadOptions{});
    const double seconds = Now() - begin;
    Expect(loaded.state->table("feat"), 1000);
    return {seconds, {}};
  }

  // The figure is the time until a look-up of 2,000 keys is answered.
  Measurement RestoreLater() const {
    const Program program = LiveProgram("");
    LoadOptions options;
    options.rows_later = true;
    const double begin = Now();
    LoadedState loaded = LoadState(PosixFileSystem(), state_, program, options);
    const double opened = Now() - begin;
    DurableTable& table = loaded.state->table("feat");
    Expect(table, 2000);
    const double answered = Now() - begin;
    while (table.MoveIn(10'000)) {
    }
    const double moved = Now() - begin;
    Expect(table, 1000);
    return {answered, {{"opened", opened}, {"moved", moved}}};
  }

  // Looks up rows all over the table and compares them.
  void Expect(const Table& table, size_t count) const {
    std::vector<uint64_t> ranks = MakeRanks("uniform", rows_, count, 5), keys = ranks;
    for (uint64_t& key : keys) key = KeyOf(key);
    std::vector<float> out(count * 16);
    PullNow(table, keys, out);
    for (size_t i = 0; i < count; ++i) {
      if (out[16 * i + 3] != ValueOf(ranks[i], 3)) throw std::runtime_error("a row is wrong");
    }
  }

  const uint64_t rows_;
  const ScratchDirectory directory_;
  const std::string state_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  return ServeRows(argc, argv, [](const std::string&, uint64_t rows) {
    return std::make_unique<RestoreCase>(rows);
  });
}
