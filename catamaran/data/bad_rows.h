// data/bad_rows.h
//
// What happens to rows that cannot be read: each is reported and counted, and skipped as long as
// there are no more than the user allows. By default none is, so the first is an Error.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace catamaran {

struct BadRowOptions {
  // As many are skipped; one more is an Error.
  int64_t limit = 0;
  // As many were skipped already, in what comes before this data.
  int64_t skipped_before = 0;
  // Hears of every row that is skipped: "clicks.csv:17: column 'age': 'x' is no number".
  std::function<void(const std::string& message)> report;
};

class BadRows {
 public:
  explicit BadRows(BadRowOptions options = {});

  // A bad row. `message` begins with its place, as "clicks.csv:17: …". Returns if it is to be
  // skipped; else throws an Error of that message that also says how many were skipped before.
  void Add(const std::string& message);

  // Skipped so far, those before included. Readers put it into their positions, so that going on
  // later counts on.
  int64_t count() const { return count_; }
  void set_count(int64_t count) { count_ = count; }

 private:
  const BadRowOptions options_;
  int64_t count_;
};

}  // namespace catamaran
