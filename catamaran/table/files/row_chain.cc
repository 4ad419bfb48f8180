#include "catamaran/table/files/row_chain.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/table/files/row_merge.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {

std::array<int64_t, kRowClasses> CountRows(std::span<const RowFileRef> files) {
  std::array<int64_t, kRowClasses> rows = files[0]->head().total_rows;
  for (RowMerge changes(files.subspan(1)); !changes.done(); changes.Next()) {
    if (changes.section() != kDeletedSection) ++rows[static_cast<size_t>(changes.section())];
    RowClass c;
    const uint32_t* record;
    if (files[0]->FindHash(changes.hash(), &c, &record) == RowFile::Found::kRow) {
      --rows[static_cast<size_t>(c)];
    }
  }
  return rows;
}

void CheckOverlaps(std::span<const RowFileRef> files) {
  for (size_t i = 1; i < files.size(); ++i) {
    const RowFile& below = *files[i - 1];
    const RowFile& file = *files[i];
    if (file.head().full) {
      Fail("{} is a full file, and cannot be put over {}", file.path(), below.path());
    }
    if (file.head().since > below.head().commit || file.head().commit < below.head().commit) {
      Fail(ErrorCode::kStorage,
           "{} has the changes of commits {} to {}, and cannot be put over {}, which is at commit "
           "{}",
           file.path(), file.head().since, file.head().commit, below.path(), below.head().commit);
    }
    if (file.head().record != below.head().record) {
      Fail(ErrorCode::kStorage, "{} has rows of another kind than {}", file.path(), below.path());
    }
    const std::string difference = DifferenceOfRows(below.config(), file.config());
    if (!difference.empty()) {
      Fail(ErrorCode::kStorage, "{} and {} are of different tables: {}", below.path(), file.path(),
           difference);
    }
  }
}

RowChain::RowChain(std::vector<RowFileRef> files) : files_(std::move(files)) {
  if (files_.empty()) Fail("a chain of row files needs at least one file");
  if (!files_[0]->head().full) {
    Fail("{} has only the changes since commit {}: a chain begins with a full file",
         files_[0]->path(), files_[0]->head().since);
  }
  if (files_[0]->head().record != RecordKind::kTraining) {
    Fail("{} is an export for serving: it has no slots to train with", files_[0]->path());
  }
  CheckOverlaps(files_);
  num_rows_ = files_.back()->head().total_rows;
  if (*std::min_element(num_rows_.begin(), num_rows_.end()) < 0) num_rows_ = CountRows(files_);
}

const uint32_t* RowChain::Find(uint64_t key, RowClass* c) const {
  const uint64_t hash = config().Hash(key);
  for (size_t i = files_.size(); i-- > 0;) {
    const uint32_t* record = nullptr;
    const RowFile::Found found = files_[i]->FindHash(hash, c, &record);
    if (found != RowFile::Found::kNothing) return record;  // null if deleted
  }
  return nullptr;
}

void RowChain::Scan(uint64_t first, uint64_t last,
                    FunctionRef<void(RowClass c, const uint32_t* record)> visit) const {
  if (files_.size() == 1) {
    for (size_t c = 0; c < kRowClasses; ++c) {
      files_[0]->ScanRows(RowClass(c), first, last,
                          [&](const uint32_t* record) { visit(RowClass(c), record); });
    }
    return;
  }
  for (RowMerge merge(files_, first, last); !merge.done(); merge.Next()) {
    if (merge.section() != kDeletedSection) visit(merge.row_class(), merge.record());
  }
}

void RowChain::Verify() const {
  for (const RowFileRef& file : files_) file->Verify();
  const std::array<int64_t, kRowClasses> rows = CountRows(files_);
  for (size_t c = 0; c < kRowClasses; ++c) {
    if (rows[c] != num_rows_[c]) {
      Fail(ErrorCode::kStorage,
           "{} is wrong: it says that its table has {} rows of class {}, and its chain has {}",
           files_.back()->path(), num_rows_[c], c, rows[c]);
    }
  }
}

}  // namespace catamaran
