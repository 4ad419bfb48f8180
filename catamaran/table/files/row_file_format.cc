#include "catamaran/table/files/row_file_format.h"

#include "catamaran/table/row_codec.h"

namespace catamaran {

RecordLayout::RecordLayout(const TableConfig& config, RecordKind kind, RowStore store) {
  const RowLayout rows(config);
  key_word = kind == RecordKind::kTraining ? row_words::kKey : 0;
  for (size_t c = 0; c < kRowClasses; ++c) {
    const RowLayout::Class& row = rows.classes[c];
    classes[c].columns = row.columns;
    if (kind == RecordKind::kTraining) {
      classes[c].words = row.words;
      classes[c].embedding = row.embedding;
    } else {
      classes[c].words = 2 + RowCodec::Words(store, row.columns);
      classes[c].embedding = 2;
    }
  }
}

}  // namespace catamaran
