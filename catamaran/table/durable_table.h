// table/durable_table.h
//
// What a table offers to whoever saves it, and takes back. A saver asks for a cut between two
// steps: it holds what has changed since the cut before, as it was at that moment, however long
// the saver takes to write it down; training and reading go on meanwhile.
//
//   auto cut = table.Cut(/*full=*/false);       // between two steps; takes microseconds
//   … cut->ForEachRow(…), on another thread …   // while steps go on
//   table.EndCut(std::move(cut), /*kept=*/true) // between two steps
//
// Base and changes: the rows of a full cut, with the rows of each later kept cut put over them and
// its deleted keys taken out, are the table at the last of them. A key is in a cut once, in one
// class; in a later cut it may be of another class.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/row_layout.h"
#include "catamaran/table/table.h"

namespace catamaran {

// State of a table that belongs to no key, as named bytes; small, or as large as a sketch. Whoever
// saves a table does not look into it.
using TableExtras = std::map<std::string, std::string>;

// Thread safety: one thread at a time, any thread, at the same time as all methods of its table.
class TableCut {
 public:
  virtual ~TableCut() = default;

  virtual bool full() const = 0;
  // Exactly as many as ForEachRow visits.
  virtual int64_t num_rows(RowClass c) const = 0;
  virtual int64_t num_deleted() const = 0;
  // Rows of the class in the table at the cut, whether they changed or not; -1: not known, then
  // whoever restores the table counts them.
  virtual int64_t total_rows(RowClass c) const { return full() ? num_rows(c) : -1; }

  // In ascending order of config().Hash(key). The record is the visitor's during the call; its
  // sequence bits are 0. Once for each class: what has been visited is let go.
  virtual void ForEachRow(RowClass c, FunctionRef<void(const uint32_t* record)> visit) = 0;
  // Keys that were in an earlier cut, or might have been, and are in the table no more. Cheaper
  // when all rows have been visited.
  virtual void ForEachDeleted(FunctionRef<void(uint64_t key)> visit) = 0;
  virtual const TableExtras& extras() const = 0;
};

// Rows that lie beneath a table: a saved state, in files that are mapped. Immutable.
// Thread safety: all methods may be called concurrently.
class RowBacking {
 public:
  virtual ~RowBacking() = default;

  // The record of `key`, or null; good as long as the backing. Throws an Error that names the file
  // when the record is damaged.
  virtual const uint32_t* Find(uint64_t key, RowClass* c) const = 0;
  // Every record whose config().Hash(key) is in [first, last], in ascending order within a class.
  virtual void Scan(uint64_t first, uint64_t last,
                    FunctionRef<void(RowClass c, const uint32_t* record)> visit) const = 0;
  virtual int64_t num_rows(RowClass c) const = 0;
  virtual const TableExtras& extras() const = 0;
};

class DurableTable : public Table {
 public:
  virtual const TableConfig& config() const = 0;
  virtual const RowLayout& layout() const = 0;

  // Between two steps. A full cut holds all rows. REQUIRES: no other cut is in progress.
  virtual std::unique_ptr<TableCut> Cut(bool full) = 0;
  // Between two steps. Kept: the next cut holds what changed after this one. Not kept: what this
  // one held is changed still.
  virtual void EndCut(std::unique_ptr<TableCut> cut, bool kept) = 0;

  // Makes an empty table hold what `backing` does. It answers for all keys when this returns; rows
  // move into memory when they are written, and by MoveIn. Nothing counts as changed.
  // REQUIRES: before any step; the backing's records have this table's layout and hash.
  virtual void Attach(std::shared_ptr<const RowBacking> backing) = 0;
  // Moves some rows of the backing into memory, about `max_rows`; not at the same time as Apply.
  // False when there are none left; then the backing has been let go.
  virtual bool MoveIn(int64_t max_rows) = 0;

  // Puts a record in the place of the key's row, if any; it counts as changed. For imports.
  // Not at the same time as Apply.
  virtual void Put(RowClass c, const uint32_t* record) = 0;
  // Copies the record of a key. False if it has neither row nor count. `record` has room for the
  // largest class.
  virtual bool Get(uint64_t key, RowClass* c, uint32_t* record) const = 0;

  // --- Rows that a table keeps on disk by itself (table/cold/). A cut then holds those that were
  // in memory; a key whose row left memory is among its deleted. The table at a cut is what base
  // and changes say, and beneath them the rows that SaveColdRows saved with that cut: a key that
  // base and changes have deleted, or never had, has its row there, if it has one. (So what has
  // changed since an earlier cut is: the rows of the later cuts, and of their deleted keys those
  // that the newest cold rows hold; the other deleted ones are gone. OpenColdRows of
  // cold_rows.h reads cold rows where they were saved.)
  virtual bool keeps_cold_rows() const { return false; }
  // While a cut is in progress, from any thread: makes `directory`, which must not exist, hold the
  // cold rows at the cut; when it returns its contents are durable, its own name is not yet (the
  // parent is not synced). Removing the directory is the caller's. Files are shared with the table
  // by hard links, so a later one costs what has changed. To be called at most once a cut.
  virtual void SaveColdRows(const std::string& directory);
  // Before Attach (also where there is nothing to attach): makes an empty table have the cold rows
  // that SaveColdRows left in `directory`, which stays as it is and may be removed afterwards.
  virtual void LoadColdRows(const std::string& directory);

 protected:
  // What Pull requires; an Error otherwise.
  void CheckPull(std::span<const uint64_t> keys, std::span<const float> out) const;
};

}  // namespace catamaran
