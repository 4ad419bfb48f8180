// Look-ups by other hash maps (--map NAME, see row_maps.h) that hold the same rows as the table.

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

class MapLookup final : public Case {
 public:
  MapLookup(const RowMap& map, const KeyCase& c, size_t rows)
      : map_(map), keys_(c, rows, KeyOf), out_(keys_.count()) {
    for (std::vector<float>& out : out_) out.resize(c.batch * kMapWidth);
    Run();
  }

  Measurement Run() override {
    return {keys_.Round([&](size_t caller, const uint64_t* keys) {
              map_.Lookup(keys, keys_.batch(), out_[caller].data());
            }),
            {}};
  }
  std::vector<double> Check() override {
    map_.Lookup(keys_.all(0).data(), keys_.batch(), out_[0].data());
    return CheckSums(out_[0]);
  }
  std::string Note() override { return HugePageShare(); }

 private:
  const RowMap& map_;
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
  std::unique_ptr<RowMap> map;
  return Serve(RowMapVersion(name), [&](const std::string& c) -> std::unique_ptr<Case> {
    if (!map) map = Fill(name, rows);
    return std::make_unique<MapLookup>(*map, KeyCase(c), rows);
  });
}
