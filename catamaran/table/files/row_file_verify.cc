// RowFile::Verify: what checksums cannot see, because whoever wrote the file may have been wrong.

#include <algorithm>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/table/files/row_cursor.h"
#include "catamaran/table/files/row_file.h"

namespace catamaran {
namespace {

// Entries ascend, are found where the fan-out table says, and hold nothing but what they should.
void VerifySection(const RowFile& file, int s) {
  const bool training = file.head().record == RecordKind::kTraining;
  int64_t i = 0;
  uint64_t before = 0;
  for (RowCursor cursor(file, s, 0, UINT64_MAX); !cursor.done(); cursor.Next(), ++i) {
    if (i > 0 && cursor.hash() <= before) {
      Fail(ErrorCode::kStorage,
           "{} is wrong: key {}, entry {} of section {}, is not in the order of hashes",
           file.path(), cursor.key(), i, s);
    }
    before = cursor.hash();
    if (file.LowerBound(s, cursor.hash()) != i) {
      Fail(ErrorCode::kStorage,
           "{} is wrong: key {}, entry {} of section {}, is not found by its hash", file.path(),
           cursor.key(), i, s);
    }
    if (training && s < kRowClasses && (cursor.record()[row_words::kTag] >> 8) != 0) {
      Fail(ErrorCode::kStorage, "{} is wrong: the row of key {} has a sequence number", file.path(),
           cursor.key());
    }
  }
  if (i != file.section(s).count) {
    Fail(ErrorCode::kStorage, "{} is wrong: section {} has {} entries where {} were counted",
         file.path(), s, i, file.section(s).count);
  }
}

// No key is in two sections.
void VerifyKeysOnce(const RowFile& file) {
  std::vector<RowCursor> cursors;
  for (int s = 0; s < kRowSections; ++s) cursors.emplace_back(file, s, 0, UINT64_MAX);
  while (true) {
    RowCursor* least = nullptr;
    for (RowCursor& cursor : cursors) {
      if (cursor.done()) continue;
      if (least != nullptr && cursor.hash() == least->hash()) {
        Fail(ErrorCode::kStorage, "{} is wrong: key {} is in sections {} and {}", file.path(),
             cursor.key(), least->section(), cursor.section());
      }
      if (least == nullptr || cursor.hash() < least->hash()) least = &cursor;
    }
    if (least == nullptr) return;
    least->Next();
  }
}

}  // namespace

void RowFile::Verify() const {
  CheckBlocks();
  for (int s = 0; s < kRowSections; ++s) VerifySection(*this, s);
  VerifyKeysOnce(*this);
  const RowFileHead& h = head();
  for (size_t c = 0; c < kRowClasses; ++c) {
    const int64_t rows = num_rows(RowClass(c));
    if (h.full ? h.total_rows[c] != rows : h.total_rows[c] >= 0 && h.total_rows[c] < rows) {
      Fail(ErrorCode::kStorage, "{} is wrong: it has {} rows of class {} of a table with {}",
           path(), rows, c, h.total_rows[c]);
    }
  }
  if (h.full && num_deleted() > 0)
    Fail(ErrorCode::kStorage, "{} is wrong: it is full and has deleted keys", path());
}

}  // namespace catamaran
