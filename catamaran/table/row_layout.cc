#include "catamaran/table/row_layout.h"

#include "catamaran/table/row_codec.h"

namespace catamaran {

RowLayout::RowLayout(const TableConfig& config) {
  counts_updates = config.optimizer && config.optimizer->fact().needs_step;
  const int columns[kRowClasses] = {0, 1, static_cast<int>(config.width)};
  for (size_t c = 0; c < kRowClasses; ++c) {
    Class& row = classes[c];
    row.columns = columns[c];
    row.words = row_words::kKey + 2;
    if (row.columns == 0) {
      row.words += 1;  // kCount
      continue;
    }
    if (counts_updates) row.words += 1;
    row.embedding = row.words;
    row.embedding_words = RowCodec::Words(config.store, row.columns);
    row.words += row.embedding_words;
    if (!config.optimizer) continue;
    for (const SlotFact& slot : config.optimizer->slots()) {
      const auto k = static_cast<size_t>(row.num_slots++);
      row.slot[k] = row.words;
      row.slot_words[k] = slot.per_row ? 1 : row.columns;
      row.words += row.slot_words[k];
    }
  }
}

}  // namespace catamaran
