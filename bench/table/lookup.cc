// Look-ups of rows of --width floats in our table of --rows rows, by one caller or two.

#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/table/callers.h"
#include "bench/table/keys.h"
#include "bench/table/tables.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

class Lookup final : public Case {
 public:
  Lookup(const Table& table, const KeyCase& c, size_t rows)
      : table_(table), keys_(c, rows, KeyOf), out_(keys_.count()) {
    for (std::vector<float>& out : out_) {
      out.resize(c.batch * static_cast<size_t>(table.width()));
    }
    Run();
  }

  Measurement Run() override {
    return {keys_.Round([&](size_t caller, const uint64_t* keys) {
              PullNow(table_, {keys, keys_.batch()}, out_[caller]);
            }),
            {}};
  }
  std::vector<double> Check() override {
    PullNow(table_, {keys_.all(0).data(), keys_.batch()}, out_[0]);
    return CheckSums(out_[0]);
  }
  std::string Note() override { return "rows in pages of " + table_.Info().pages; }

 private:
  const Table& table_;
  Callers<uint64_t> keys_;
  std::vector<std::vector<float>> out_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran;
  using namespace catamaran::bench;
  const auto rows =
      static_cast<size_t>(std::atoll(Option(argc, argv, "--rows", "20000000").c_str()));
  const int64_t width = std::atoll(Option(argc, argv, "--width", "16").c_str());
  std::unique_ptr<DurableTable> table;
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    const KeyCase c(name);
    const size_t wanted = rows * c.times_rows;
    if (!table || table->size() != static_cast<int64_t>(wanted)) {
      table.reset();
      // Room for the limit's memory too, which is as much.
      if (c.times_rows > 1) NeedMemory(static_cast<int64_t>(wanted) * (10 * width + 80));
      table = MakeTable(BenchConfig(width));
      FillTable(*table, 0, wanted);
    }
    return std::make_unique<Lookup>(*table, c, wanted);
  });
}
