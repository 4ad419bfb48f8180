// Pushes of gradients for rows of --width floats in our table of --rows rows.

#include <cstdlib>
#include <memory>

#include "bench/table/callers.h"
#include "bench/table/keys.h"
#include "bench/table/tables.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

class Update final : public Case {
 public:
  Update(Table& table, const KeyCase& c, size_t rows)
      : table_(table), keys_(c, rows, KeyOf), pusher_(table, c.batch) {
    Run();
  }

  Measurement Run() override {
    return {keys_.Round([&](size_t, const uint64_t* keys) { pusher_.Push(keys); }), {}};
  }
  std::string Note() override { return "rows in pages of " + table_.Info().pages; }

 private:
  const Table& table_;
  Callers<uint64_t> keys_;
  Pusher pusher_;
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
    if (!table) {
      table = MakeTable(BenchConfig(width));
      FillTable(*table, 0, rows);
    }
    return std::make_unique<Update>(*table, KeyCase(name), rows);
  });
}
