// table/files/serving_table.h
//
// Rows for serving: the embeddings alone, without slots and counts, in f32, bf16 or int8, rounded
// to the nearest. ExportServing makes a file of them from what was committed; a ServingTable maps
// such files and answers from them. It opens in the time it takes to check the fan-out table,
// half a byte a row; rows are read from disk, and checked, when they are first asked for.
//
// An increment is exported as a full table is, from the changes (PlanIncrement). A row whose score
// is below the limit counts as deleted there; scores fade, so a row that has not changed since
// stays until the next full export.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catamaran/table/files/row_chain.h"
#include "catamaran/table/table.h"

namespace catamaran {

struct ServingOptions {
  RowStore store = RowStore::kF32;
  // Rows with a lower score (TableScore) at event time `now`, in nanoseconds since 1970, are left
  // out.
  std::optional<double> min_score;
  int64_t now = 0;
};

// A full export of saved rows; `of` says which table's, at which commit.
RowFileMark ExportServing(FileSystem& fs, const std::string& path, const RowBacking& rows,
                          const RowFileHead& of, const ServingOptions& options);
inline RowFileMark ExportServing(FileSystem& fs, const std::string& path, const RowChain& chain,
                                 const ServingOptions& options) {
  return ExportServing(fs, path, chain, chain.files().back()->head(), options);
}
// What changed, over an export of the commit that the first of `changes` is since.
RowFileMark ExportServingChanges(FileSystem& fs, const std::string& path,
                                 std::span<const RowFileRef> changes,
                                 const ServingOptions& options);

// A table that only answers. Keys without a row read as its table declared.
//
// Thread safety: all methods may be called concurrently.
class ServingTable final : public Table {
 public:
  // A full export and increments over it, oldest first; an Error where they do not fit together.
  // They may be stored differently.
  explicit ServingTable(std::vector<RowFileRef> files);
  ~ServingTable() override;

  // A table with one more increment over the same files.
  std::unique_ptr<ServingTable> With(RowFileRef changes) const;

  int64_t commit() const;
  const TableConfig& config() const;

  int64_t width() const override;
  // Rows of the full export, and keys that increments added, less those they deleted.
  int64_t size() const override;
  TableInfo Info() const override;
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override;
  // Refused with an Error: nothing changes an export.
  void Prepare(const TableStep& step) override;
  int64_t ApplyPrepared() override;
  int64_t Expire(int64_t now) override;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace catamaran
