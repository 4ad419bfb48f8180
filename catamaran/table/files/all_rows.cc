#include "catamaran/table/files/all_rows.h"

#include <algorithm>
#include <bit>

namespace catamaran {

void ScanAllRows(const RowChain& chain, const SavedColdRows* cold, uint64_t first, uint64_t last,
                 FunctionRef<void(RowClass c, const uint32_t* record)> visit) {
  if (cold == nullptr) return chain.Scan(first, last, visit);
  struct Place {
    RowClass row_class;
    uint64_t hash;
    size_t at;
  };
  std::vector<Place> places;
  std::vector<uint32_t> words;
  const RowLayout layout(chain.config());
  const auto keep = [&](RowClass c, const uint32_t* record) {
    places.push_back({c, chain.config().Hash(RecordKey(record)), words.size()});
    words.insert(words.end(), record, record + layout.of(c).words);
  };
  chain.Scan(first, last, keep);
  cold->Scan(first, last, [&](RowClass c, const uint32_t* record) {
    RowClass above;
    if (chain.Find(RecordKey(record), &above) == nullptr) keep(c, record);
  });
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.row_class, a.hash) < std::pair(b.row_class, b.hash);
  });
  for (const Place& place : places) visit(place.row_class, words.data() + place.at);
}

// A power of two, so that slices end where a prefix of the hash does.
HashSlices::HashSlices(int64_t rows) {
  constexpr int64_t kRowsPerSlice = 8192;
  const auto about = static_cast<uint64_t>(std::max<int64_t>(0, rows) / kRowsPerSlice);
  bits_ = std::min(static_cast<int>(std::bit_width(about)), 32);
}

HashSlices::Slice HashSlices::operator[](uint64_t i) const {
  if (bits_ == 0) return {0, UINT64_MAX};
  const int shift = 64 - bits_;
  return {i << shift, i << shift | (UINT64_MAX >> bits_)};
}

}  // namespace catamaran
