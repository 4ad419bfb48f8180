#include "bench/table/serve.h"

#include <cstdlib>

#include "bench/table/tables.h"

namespace catamaran::bench {
namespace {

uint64_t RowsOption(int argc, char** argv) {
  return static_cast<uint64_t>(std::atoll(Option(argc, argv, "--rows", "20000000").c_str()));
}

}  // namespace

int ServeRows(
    int argc, char** argv,
    const std::function<std::unique_ptr<Case>(const std::string& name, uint64_t rows)>& prepare) {
  const uint64_t rows = RowsOption(argc, argv);
  return Serve("", [&](const std::string& name) { return prepare(name, rows); });
}

int ServeKeys(int argc, char** argv,
              const std::function<std::unique_ptr<Case>(DurableTable& table, const KeyCase& keys,
                                                        size_t rows)>& prepare) {
  const uint64_t rows = RowsOption(argc, argv);
  const int64_t width = std::atoll(Option(argc, argv, "--width", "16").c_str());
  std::unique_ptr<DurableTable> table;
  return Serve("", [&](const std::string& name) {
    const KeyCase keys(name);
    const size_t wanted = rows * keys.times_rows;
    if (!table || table->size() != static_cast<int64_t>(wanted)) {
      table.reset();
      // Room for the limit's memory too, which is as much.
      if (keys.times_rows > 1) NeedMemory(static_cast<int64_t>(wanted) * (10 * width + 80));
      table = MakeTable(BenchConfig(width));
      FillTable(*table, 0, wanted);
    }
    return prepare(*table, keys, wanted);
  });
}

}  // namespace catamaran::bench
