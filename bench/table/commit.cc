// Commits of a table of --rows rows: all of it, and one hundredth of its rows changed; how long
// they take, and look-ups meanwhile.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/table/disk.h"
#include "bench/table/keys.h"
#include "bench/table/live_table.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"

namespace catamaran::bench {
namespace {

constexpr size_t kLookup = 2000;
constexpr uint64_t kBatch = 10'000;
constexpr double kLongestSeconds = 120;

class CommitCase final : public Case {
 public:
  explicit CommitCase(uint64_t rows) : rows_(rows), live_("") {
    FillTable(live_.table(), 0, rows_);
    lookups_ = MakeRanks("power", rows_, kLookup * 500, 11);
    for (uint64_t& key : lookups_) key = KeyOf(key);
    pusher_ = std::make_unique<Pusher>(live_.table(), kBatch);
  }

  // The figure is the seconds of the small commit over those of the full one.
  Measurement Run() override {
    const std::string state = directory_.path() + "/state";
    std::filesystem::remove_all(state);
    live_.BeginCommits(state);
    const double full = Timed(1, [&] { live_.commits().Commit(); });
    const int64_t full_bytes = BytesBelow(state);

    Change(rows_ / 100);
    const double changed = Timed(1, [&] { live_.commits().Commit(); });
    const int64_t changed_bytes = BytesBelow(state) - full_bytes;

    // Once more while somebody reads.
    const double quiet = LookupSeconds([] { return true; });
    Change(rows_ / 100);
    live_.EndCommits();
    std::filesystem::remove_all(state);
    live_.BeginCommits(state);
    live_.commits().StartCommit();
    const double meanwhile = LookupSeconds([&] { return !live_.commits().in_progress(); });
    live_.commits().Wait();
    live_.EndCommits();

    const double disk = WriteSeconds(directory_.path() + "/disk", full_bytes);
    const auto full_size = static_cast<double>(full_bytes);
    return {changed,
            {{"share", changed / full},
             {"full_seconds", full},
             {"bytes_share", static_cast<double>(changed_bytes) / full_size},
             {"gbs", full_size / full * 1e-9},
             {"disk_gbs", full_size / disk * 1e-9},
             {"lookup_alone", quiet},
             {"lookup_meanwhile", meanwhile},
             {"lookup_ratio", meanwhile / quiet}}};
  }

  std::string Note() override { return "commits go to the disk of temporary files"; }

 private:
  // Pushes to that many rows, each once, all over the table.
  void Change(uint64_t count) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < count; ++i) {
      keys.push_back(KeyOf((next_changed_ + i * 97) % rows_));
    }
    next_changed_ += 31;
    for (uint64_t i = 0; i < count; i += kBatch) {
      live_.Step(pusher_->event_time(),
                 [&] { pusher_->Push(keys.data() + i, std::min<uint64_t>(kBatch, count - i)); });
    }
  }

  // The mean of look-ups of 2,000 keys: 500 at least, then until `over` says so. What runs at idle
  // priority may never end on a machine that is busy with other things.
  template <class Over>
  double LookupSeconds(Over over) {
    std::vector<float> out(kLookup * 16);
    const size_t batches = lookups_.size() / kLookup;
    size_t done = 0;
    const double begin = Now();
    do {
      const uint64_t* keys = lookups_.data() + done++ % batches * kLookup;
      PullNow(live_.table(), {keys, kLookup}, out);
      if (Now() - begin > kLongestSeconds) {
        throw std::runtime_error("the commit does not end: the machine is busy");
      }
    } while (done < 500 || !over());
    return (Now() - begin) / static_cast<double>(done);
  }

  const uint64_t rows_;
  const ScratchDirectory directory_;
  LiveTable live_;
  std::vector<uint64_t> lookups_;
  std::unique_ptr<Pusher> pusher_;
  uint64_t next_changed_ = 0;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  return ServeRows(argc, argv, [](const std::string&, uint64_t rows) {
    return std::make_unique<CommitCase>(rows);
  });
}
