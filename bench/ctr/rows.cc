#include "bench/ctr/rows.h"

#include "bench/table/keys.h"
#include "bench/workload.h"

namespace catamaran::bench {

Schema CtrSchema() {
  return Schema({Column::Dense("label"), Column::Dense("dense", DType::kF32, {kNumbers}),
                 Column::Dense("ids", DType::kI64, {kFields})});
}

RowBlock MakeCtrRows() {
  RowBlock block(CtrSchema());
  const auto rows = static_cast<size_t>(kRows);
  const auto fields = static_cast<size_t>(kFields);
  const std::vector<float> dense = Uniform(50, rows * static_cast<size_t>(kNumbers));
  block[1].floats.Append(dense);
  block[2].ints.resize(rows * fields);
  for (size_t field = 0; field < fields; ++field) {
    const std::vector<uint64_t> ranks = MakeRanks("power", kIdsAField, rows, field + 1);
    for (size_t row = 0; row < rows; ++row) {
      // Ids that are asked for often do not lie side by side.
      const int64_t place = static_cast<int64_t>(ranks[row]) * 73'687 % kIdsAField;
      block[2].ints[row * fields + field] = static_cast<int64_t>(field) * kIdsAField + place;
    }
  }
  const std::vector<float> chance = Uniform(51, rows);
  for (size_t row = 0; row < rows; ++row) {
    const float click = 0.1f + 0.3f * dense[row * static_cast<size_t>(kNumbers)];
    block[0].floats.push_back(chance[row] < click ? 1.0f : 0.0f);
  }
  block.SetRows(kRows);
  return block;
}

float InitialEmbedding(int64_t id, int64_t column) {
  return (ValueOf(static_cast<uint64_t>(id), static_cast<uint64_t>(column)) - 0.5f) * 0.02f;
}

}  // namespace catamaran::bench
