#include "catamaran/table/cold/cold_counts.h"

#include "catamaran/table/state_bytes.h"

namespace catamaran {

std::string ColdCounts::Save() const {
  StateWriter out;
  for (const Count& count : by_class_) out.Put<int64_t>(count);
  return out.Take();
}

void ColdCounts::Load(std::string_view bytes) {
  StateReader in("count of rows on disk", bytes);
  for (Count& count : by_class_) count = in.Get<int64_t>();
  in.End();
}

}  // namespace catamaran
