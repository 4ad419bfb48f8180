// data/pipeline/place.h
//
// Where a pipeline is: in which window, how many of whose rows were given, and what has to be read
// to have that window again. Stored in a Position together with what the order of rows depends on,
// so that going on in another order is refused.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/data/position.h"

namespace catamaran {

struct Place {
  int64_t epoch = 0;
  int64_t batch = 0;   // number of the next one
  int64_t window = 0;  // in the epoch
  // The window begins with row `skip` of this chunk of the epoch, which is where `reader` says
  // where data is read in order, and before which so many bad rows were skipped in the epoch.
  int64_t chunk = 0;
  int64_t skip = 0;
  Position reader;
  int64_t bad_rows = 0;
  // Rows of the window that were given.
  int64_t given = 0;
};

// What must be the same for a Place to have a meaning.
struct OrderKey {
  uint64_t data = 0;  // a hash of what is known of it without reading
  uint64_t transform = 0;
  bool any_transform = false;  // a position of another transform will do
  int64_t parts = 0;
  int64_t shuffle_window = 0;
  uint64_t seed = 0;
  // 0 and "" unless rows are bucketed.
  int64_t bucketed_rows = 0;
  int64_t bucketed_tokens = 0;
  std::string bucket_column;
};

Position ToPosition(const Place& place, const OrderKey& key);

// An Error that says what does not agree. The empty position is the beginning.
Place FromPosition(const Position& position, const OrderKey& key);

}  // namespace catamaran
