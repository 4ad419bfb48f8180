// Look-ups by other hash maps (--map NAME, see row_maps.h) that hold the same rows as the table. A
// map that can be asked ahead is (but for --ahead no), at the best of several distances, found in
// each case.

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/table/callers.h"
#include "bench/table/huge_array.h"
#include "bench/table/keys.h"
#include "bench/table/row_maps.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

std::unique_ptr<RowMap> Fill(const std::string& name, size_t rows) {
  std::unique_ptr<RowMap> map = MakeRowMap(name, rows);
  for (uint64_t rank = 0; rank < rows; ++rank) {
    MapRow row;
    for (size_t j = 0; j < kMapWidth; ++j) row[j] = ValueOf(rank, j);
    map->Insert(KeyOf(rank), row);
  }
  return map;
}

constexpr size_t kDistances[] = {4, 6, 8, 12, 16, 24, 32, 48};

class MapLookup final : public Case {
 public:
  MapLookup(RowMap& map, const KeyCase& c, size_t rows, bool ask_ahead)
      : map_(map), keys_(c, rows, KeyOf), out_(keys_.count()) {
    for (std::vector<float>& out : out_) out.resize(c.batch * kMapWidth);
    Round();
    if (ask_ahead && map.CanAskAhead()) Tune();
  }

  Measurement Run() override {
    map_.AskAhead(ahead_);
    return keys_.Measure([this](size_t caller, const uint64_t* keys) { Look(caller, keys); });
  }
  std::vector<double> Check() override {
    Look(0, keys_.all(0).data());
    return CheckSums(out_[0]);
  }
  std::string Note() override {
    return (ahead_ > 0 ? fmt::format("asked {} keys ahead, ", ahead_) : "") + HugePageShare();
  }

 private:
  void Look(size_t caller, const uint64_t* keys) {
    map_.Lookup(keys, keys_.batch(), out_[caller].data());
  }
  double Round() {
    return keys_.Round([this](size_t caller, const uint64_t* keys) { Look(caller, keys); });
  }

  void Tune() {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      for (const size_t ahead : kDistances) {
        map_.AskAhead(ahead);
        const double seconds = Round();
        if (seconds < best) best = seconds, ahead_ = ahead;
      }
    }
  }

  RowMap& map_;
  size_t ahead_ = 0;
  Callers<uint64_t> keys_;
  std::vector<std::vector<float>> out_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const std::string name = Option(argc, argv, "--map", "absl");
  const auto rows =
      static_cast<size_t>(std::atoll(Option(argc, argv, "--rows", "20000000").c_str()));
  const bool ask_ahead = Option(argc, argv, "--ahead", "yes") == "yes";
  std::unique_ptr<RowMap> map;
  return Serve(RowMapVersion(name), [&](const std::string& c) -> std::unique_ptr<Case> {
    if (!map) map = Fill(name, rows);
    return std::make_unique<MapLookup>(*map, KeyCase(c), rows, ask_ahead);
  });
}
