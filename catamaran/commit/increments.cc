// commit/increments.cc

#include "catamaran/commit/increments.h"

#include "catamaran/table/cold_rows.h"

namespace catamaran {
namespace {

// Null if the table has none.
std::unique_ptr<const SavedColdRows> OpenCold(const CommittedTable& table) {
  if (table.cold.empty()) return nullptr;
  return OpenColdRows(table.files.back()->config(), table.cold);
}

}  // namespace

bool WriteTableIncrement(FileSystem& fs, const CommittedTable& table, uint64_t since,
                         const std::string& path, std::string* why) {
  std::vector<RowFileRef> files = table.kept;
  files.insert(files.end(), table.files.begin(), table.files.end());
  RowFileMark mark;
  return WriteIncrement(fs, path, files, static_cast<int64_t>(since), why, &mark,
                        OpenCold(table).get());
}

void WriteTableSnapshot(FileSystem& fs, const CommittedTable& table, const std::string& path) {
  CompactChain(fs, path, RowChain(table.files), OpenCold(table).get());
}

}  // namespace catamaran
