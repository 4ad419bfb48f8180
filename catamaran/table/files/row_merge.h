// table/files/row_merge.h
//
// The newest word of several row files on every key, in ascending order of hash: a merge of all
// their sections. Memory: a cursor for each section.
//
//   for (RowMerge merge(files); !merge.done(); merge.Next()) … merge.section(), merge.record() …
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catamaran/table/files/row_chain.h"
#include "catamaran/table/files/row_cursor.h"

namespace catamaran {

class RowMerge {
 public:
  // `files` from the oldest to the newest; they must outlive this. Keys with a hash in
  // [first, last].
  explicit RowMerge(std::span<const RowFileRef> files, uint64_t first = 0,
                    uint64_t last = UINT64_MAX);

  // Only entries of one section, where they are the newest word: what the others say is looked at
  // where it could be newer, and nowhere else.
  static RowMerge OfSection(std::span<const RowFileRef> files, int section);

  bool done() const { return done_; }
  // REQUIRES, of these: not done.
  uint64_t hash() const { return hash_; }
  uint64_t key() const { return key_; }
  int section() const { return section_; }  // kDeletedSection, or a class of rows
  RowClass row_class() const { return RowClass(section_); }
  const uint32_t* record() const { return record_; }  // good as long as the files

  void Next();

 private:
  // A cursor that is not done, in a heap whose top has the least hash and, of equal ones, is of
  // the newest file.
  struct Source {
    uint64_t hash = 0;
    int file = 0;
    RowCursor* cursor = nullptr;

    bool Before(const Source& other) const {
      return hash != other.hash ? hash < other.hash : file > other.file;
    }
  };

  RowMerge() = default;
  void Add(const RowFile& file, int number, int section, uint64_t first, uint64_t last);
  void Start();
  // The top has moved on, or is done: puts the heap in order again.
  void Advance();
  void SiftDown(size_t i);

  std::vector<std::unique_ptr<RowCursor>> cursors_;
  std::vector<Source> heap_;
  int only_ = -1;  // a section, or all
  bool done_ = false;
  uint64_t hash_ = 0, key_ = 0;
  int section_ = 0;
  const uint32_t* record_ = nullptr;
};

}  // namespace catamaran
