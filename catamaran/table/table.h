// table/table.h
//
// A Table maps 64-bit keys to fixed-width rows of floats that an optimizer updates in place. It
// is the home of sparse parameters: a key has a row from the step in which its admission policy
// lets it in until its expiry policy removes it.
//
// A step has two halves, because one step may change several tables and dense parameters, and has
// to change all of them or none: Prepare does everything that can fail, ApplyPrepared the rest.
//
// Thread safety: any number of threads may call Pull, Announce and Info at the same time as one
// that writes (Prepare, ApplyPrepared, Expire); writers take turns. A row is read and written as a
// whole; a batch is not (the rows of one Pull may come from different steps).

#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "catamaran/tensor/rows_value.h"

namespace catamaran {

class ThreadPool;

// What to call when something that was started is done: a function and its context, no memory.
struct Done {
  // `error` is null when all went well.
  void (*call)(void* context, std::exception_ptr error) = nullptr;
  void* context = nullptr;
  void operator()(std::exception_ptr error = nullptr) const { call(context, std::move(error)); }
};

// Keys that were shown in a step. It counts for admission, metadata and expiry.
struct TableObservation {
  const void* keys = nullptr;  // num_keys of key_type (u64, i64 or i32)
  DType key_type = DType::kU64;
  int64_t num_keys = 0;
  // How much each key was shown and clicked: one number a key, or one number for all, or null for
  // 1 and 0.
  const float* show = nullptr;
  const float* click = nullptr;
  bool show_for_all = false;
  bool click_for_all = false;
  // With a number for each group of keys (a row of ids, a sequence) instead: key i belongs to
  // group i / keys_per_group, or to the group whose offsets hold it.
  int64_t keys_per_group = 1;
  const int64_t* offsets = nullptr;  // num_groups + 1, or null
  int64_t num_groups = 0;
  uint64_t salt = 0;  // of the feature; a key is SaltedKey(keys[i], salt)
  int feature = 0;    // its place in the table's list, from 1; 0: the one with that salt, if any
};

// A gradient for the optimizer that the table declares. What it scales and is scaled by is finite.
struct TablePush {
  const RowsValue* rows = nullptr;  // f32
  double scale = 1;                 // multiplies the gradient
  double lr_scale = 1;              // multiplies the optimizer's learning rate
};

// Everything one step does to one table. Observations come first. Where there are observations
// (of no key, even), they count for admission; else every key of a push counts, once an
// occurrence. The gradient of a key is its first occurrence times its factors, to which the others
// are added in the order of the batch, over all pushes; then each key makes one optimizer step,
// with the learning-rate scale of the last push that holds it (row_rules.h says all of this
// exactly). A row made in a step gets that step's gradient. The shared row gets the sum, in the
// order of the batch, over all occurrences of keys that have no row when the step is over.
struct TableStep {
  int64_t step = 0;
  int64_t event_time = 0;  // nanoseconds since 1970; the only clock a table sees
  std::span<const TableObservation> observations;
  std::span<const TablePush> pushes;
  ThreadPool* pool = nullptr;  // for large steps; the result does not depend on it
};

// What a table knows of one of the features that share it. Exact; counted in Apply.
struct FeatureInfo {
  std::string name;
  int64_t rows = 0;         // at this moment, admitted ones
  int64_t occurrences = 0;  // keys of observations (or, without any, of pushes) so far
  double shows = 0;         // so far, without fading
  double clicks = 0;
};

struct TableInfo {
  int64_t rows = 0;
  int64_t narrow_rows = 0;  // of those, rows that have not grown to their full width
  int64_t cold_rows = 0;    // of those, rows that are not in memory
  int64_t waiting = 0;      // keys that are counted and not admitted yet
  int64_t bytes = 0;        // memory of rows, slots, metadata, index and sketches
  int64_t index_bytes = 0;  // of those, the index
  int64_t bytes_on_disk = 0;
  std::string pages;    // of rows, lately: "4 KiB", "2 MiB, transparent", "2 MiB, explicit"
  int64_t expired = 0;  // rows removed so far
  int64_t longest_pause_ns = 0;  // the longest that growing kept a writer, so far
  std::vector<FeatureInfo> features;
};

class Table {
 public:
  virtual ~Table() = default;

  virtual int64_t width() const = 0;
  // Rows at this moment.
  virtual int64_t size() const = 0;
  virtual TableInfo Info() const = 0;  // takes microseconds; once a second milliseconds

  // Copies the rows of `keys` to `out`, one after another, then calls `done`: before it returns if
  // all rows are in memory, later, from any thread, otherwise. A key without a row yields what
  // the table declares for it; no row is made.
  // REQUIRES: out.size() == keys.size() * width(), and both outlive `done`.
  virtual void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const = 0;

  // A hint that these keys will be asked for soon: a table whose rows are not all in memory may
  // begin to fetch them. Returns at once, never fails, and changes no result. From any thread, at
  // the same time as everything else.
  virtual void Announce(std::span<const uint64_t> /*keys*/) {}

  // Everything of a step that can fail: checks it, reads the rows that it needs from where they
  // are, and takes the memory that ApplyPrepared will need. What readers and cuts see stays as it
  // is. The step, and all that it points at, stays until ApplyPrepared, or until another step is
  // prepared; nothing else may write in between. A step that was prepared need not be applied.
  virtual void Prepare(const TableStep& step) = 0;
  // Applies the step that was prepared last, then a slice of the expiry that is due (expiry.h).
  // Returns when it has happened: how many rows kept numbers that they had, because the next ones
  // would not have been finite (update_rules.h). Does not throw, but for a bug; what goes wrong in
  // expiry is tried again, and said, by the next Prepare, Expire or cut. REQUIRES: Prepare
  // returned.
  virtual int64_t ApplyPrepared() = 0;
  // Both halves.
  int64_t Apply(const TableStep& step) {
    Prepare(step);
    return ApplyPrepared();
  }

  // Removes all that the policies call old at event time `now`, at once. Returns how many rows
  // went. Not at the same time as Apply.
  virtual int64_t Expire(int64_t now) = 0;
};

}  // namespace catamaran
