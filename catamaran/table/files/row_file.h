// table/files/row_file.h
//
// A file of rows: all rows of a table at a commit (full), or the rows that changed between two
// commits and the keys that went (changes). Written once, from front to back; read by mapping it.
// Rows lie by class, in ascending order of their hash, so files merge like sorted lists. Every byte
// is under a checksum. docs/formats/table-rows.md has the bytes.
//
//   RowFileWriter writer(fs, path, head);
//   writer.BeginRows(RowClass::kFull, about);  // classes in ascending order; empty ones may be
//   left writer.AddRow(record); …                   // in ascending order of hash
//   writer.BeginDeleted(about); writer.AddDeleted(key); …
//   RowFileMark mark = writer.Finish(extras);  // on disk, but for the name: sync the directory
//
// A reader says what is wrong with a damaged file and names it; it never trusts a number in it
// before the checksums have been compared, and no bytes that it hands out are unchecked.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/table/durable_table.h"
#include "catamaran/table/files/row_file_format.h"

namespace catamaran {

// What a manifest keeps of a file, to know it again: any other contents have another root (but for
// one in 2^32).
struct RowFileMark {
  uint64_t size = 0;  // bytes
  uint32_t root = 0;  // a checksum of all checksums

  friend bool operator==(const RowFileMark&, const RowFileMark&) = default;
};

// What the file is of.
struct RowFileHead {
  TableConfig config;
  bool full = true;
  int64_t since = 0;   // changes: the commit that they are put over; full: 0
  int64_t commit = 0;  // the commit at which the rows were so; at least `since`
  // Rows of each class in the table at `commit`, whatever part of them is in the file; -1 where
  // nobody knows. A full file knows by itself.
  std::array<int64_t, kRowClasses> total_rows = {-1, -1, -1};
  RecordKind record = RecordKind::kTraining;
  // How the numbers of rows for serving are kept, whatever the table's own store; in a file for
  // training it is the table's own.
  RowStore serving_store = RowStore::kF32;

  RowStore store() const { return record == RecordKind::kServing ? serving_store : config.store; }
};

// Thread safety: one thread at a time.
class RowFileWriter {
 public:
  // Makes the file, or empties the one that is there. Memory: two megabytes and, for the class
  // being written and those before it, half a byte a row.
  RowFileWriter(FileSystem& fs, const std::string& path, const RowFileHead& head);
  ~RowFileWriter();
  RowFileWriter(const RowFileWriter&) = delete;
  RowFileWriter& operator=(const RowFileWriter&) = delete;

  // What follows are rows of class `c`, `about` as many: more or fewer costs some room or speed.
  void BeginRows(RowClass c, int64_t about);
  // REQUIRES: the hash of its key is above that of the row before. It is copied; the upper 24 bits
  // of its tag become 0.
  void AddRow(const uint32_t* record);
  // After all rows. REQUIRES: changes.
  void BeginDeleted(int64_t about);
  void AddDeleted(uint64_t key);
  // Rows, or deleted keys, since the last Begin….
  int64_t count() const;

  // Writes what remains, syncs and closes. A file whose Finish did not return is no row file.
  RowFileMark Finish(const TableExtras& extras);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Thread safety: immutable but for a note of which blocks have been checked; all methods may be
// called concurrently.
class RowFile {
 public:
  struct Options {
    // Everything is checked at once, not each block of rows when it is first touched.
    bool verify_all = false;
    // What a manifest says that the file is.
    std::optional<RowFileMark> expected;
  };

  // An Error that names the file and says what is wrong with it. Reads and checks all but the rows
  // and the deleted keys: half a byte a row, and the extras.
  static std::shared_ptr<const RowFile> Open(const FileSystem& fs, const std::string& path,
                                             const Options& options);
  static std::shared_ptr<const RowFile> Open(const FileSystem& fs, const std::string& path) {
    return Open(fs, path, Options{});
  }
  ~RowFile();

  const std::string& path() const;
  RowFileMark mark() const;
  const RowFileHead& head() const;  // total_rows is -1 only in changes
  const TableConfig& config() const { return head().config; }
  const RecordLayout& layout() const;
  const TableExtras& extras() const;

  int64_t num_rows(RowClass c) const { return section(static_cast<int>(c)).count; }
  int64_t num_deleted() const { return section(kDeletedSection).count; }

  // What the file says of a key: the class and its record, or that it was deleted, or nothing.
  enum class Found : uint8_t { kNothing, kRow, kDeleted };
  Found Find(uint64_t key, RowClass* c, const uint32_t** record) const;
  // The same where the hash is known already.
  Found FindHash(uint64_t hash, RowClass* c, const uint32_t** record) const;

  // The first two steps of a Find, to be made for many keys before the third, so that their memory
  // is fetched at the same time.
  void PrefetchFanOut(uint64_t hash) const;
  void PrefetchEntry(uint64_t hash) const;

  // Rows of one class with a hash in [first, last], ascending.
  void ScanRows(RowClass c, uint64_t first, uint64_t last,
                FunctionRef<void(const uint32_t* record)> visit) const;
  void ScanDeleted(uint64_t first, uint64_t last, FunctionRef<void(uint64_t key)> visit) const;

  // Compares every checksum.
  void CheckBlocks() const;
  // The same, and looks whether all is as it should be behind it: the order of the
  // rows, no key twice, the tables by which rows are found, words that must be 0. An Error if not.
  void Verify() const;

  // --- For cursors and merges (row_cursor.h).

  struct Section {
    int64_t count = 0;
    uint32_t stride = 0;      // bytes of one entry
    uint32_t key_offset = 0;  // of the key in an entry
    uint64_t offset = 0;      // in the file
    const std::byte* data = nullptr;
  };
  const Section& section(int s) const;
  // The first entry with a hash >= `hash`: count if there is none. Checks what it looks at.
  int64_t LowerBound(int s, uint64_t hash) const;
  // The hash of entry i. Checks the entry.
  uint64_t HashAt(int s, int64_t i) const;
  // Returns when entries [i, j) have been checked, or throws.
  void CheckEntries(int s, int64_t i, int64_t j) const;
  const MappedFile& file() const;

 private:
  class Impl;
  explicit RowFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Writes down what a cut holds, in one pass. The cut is of the table that `head` describes;
// head.full and head.total_rows are taken from the cut. Deleted keys are sorted in memory, if the
// cut has not done that. Breathes (base/background.h) while it writes those; of rows the cut does.
RowFileMark WriteCut(FileSystem& fs, const std::string& path, RowFileHead head, TableCut& cut);

}  // namespace catamaran
