// Look-ups of rows of --width floats in our table of --rows rows, by one caller or two.

#include <memory>
#include <vector>

#include "bench/table/callers.h"
#include "bench/table/keys.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"

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
    return keys_.Measure([&](size_t caller, const uint64_t* keys) {
      PullNow(table_, {keys, keys_.batch()}, out_[caller]);
    });
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
  return ServeKeys(argc, argv, [](DurableTable& table, const KeyCase& keys, size_t rows) {
    return std::make_unique<Lookup>(table, keys, rows);
  });
}
