// Pushes of gradients for rows of --width floats in our table of --rows rows.

#include <memory>

#include "bench/table/callers.h"
#include "bench/table/keys.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"

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
  return ServeKeys(argc, argv, [](DurableTable& table, const KeyCase& keys, size_t rows) {
    return std::make_unique<Update>(table, keys, rows);
  });
}
