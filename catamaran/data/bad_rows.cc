#include "catamaran/data/bad_rows.h"

#include "catamaran/base/error.h"

namespace catamaran {

BadRows::BadRows(BadRowOptions options)
    : options_(std::move(options)), count_(options_.skipped_before) {
  if (options_.limit < 0) Fail("the limit of bad rows is {}; it cannot be below 0", options_.limit);
}

void BadRows::Add(const std::string& message) {
  if (count_ >= options_.limit) {
    if (options_.limit == 0) Fail(ErrorCode::kBadData, "{}", message);
    Fail(ErrorCode::kBadData, "{} ({} bad rows were skipped before it, and no more are allowed)",
         message, count_);
  }
  ++count_;
  if (options_.report) options_.report(message);
}

}  // namespace catamaran
