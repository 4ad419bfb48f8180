// ExportServing and ExportServingChanges; see serving_table.h.

#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/table/files/row_merge.h"
#include "catamaran/table/files/serving_table.h"
#include "catamaran/table/row_rules.h"

namespace catamaran {
namespace {

constexpr RowClass kServedClasses[] = {RowClass::kNarrow, RowClass::kFull};

// Turns records for training into records for serving.
class Converter {
 public:
  Converter(const RowFileHead& from, const RowFileHead& to, const ServingOptions& options)
      : rules_(from.config),
        layout_(to.config, to.record, to.store()),
        kernels_(rules_.codec().kernels()),
        store_(to.store()),
        min_score_(options.min_score),
        now_(LastSeenSeconds(options.now)),
        halves_(static_cast<size_t>(from.config.width), uint16_t{0x8000}),
        values_(static_cast<size_t>(from.config.width)),
        entry_(static_cast<size_t>(layout_.of(RowClass::kFull).words) + 2) {}

  // Whether a row is good enough.
  bool Keeps(const uint32_t* record) const {
    return !min_score_ || rules_.Score(record, now_) >= *min_score_;
  }

  // Good until the next call.
  const uint32_t* Convert(RowClass c, const uint32_t* record) {
    const RowLayout::Class& row = rules_.layout().of(c);
    SetKey(RecordKey(record));
    const uint32_t* from = record + row.embedding;
    uint32_t* to = entry_.data() + layout_.of(c).embedding;
    if (store_ == rules_.config().store) {
      std::copy_n(from, row.embedding_words, to);
      return entry_.data();
    }
    rules_.codec().Decode(from, row.columns, values_.data());
    // Rounding at random with every draw one half is rounding to the nearest.
    if (store_ == RowStore::kF32) {
      std::memcpy(to, values_.data(), static_cast<size_t>(row.columns) * sizeof(float));
    } else if (store_ == RowStore::kBf16) {
      kernels_.encode_bf16(values_.data(), halves_.data(), row.columns, to);
    } else {
      kernels_.encode_int8(values_.data(), halves_.data(), row.columns, to);
    }
    return entry_.data();
  }

 private:
  void SetKey(uint64_t key) {
    entry_[0] = static_cast<uint32_t>(key);
    entry_[1] = static_cast<uint32_t>(key >> 32);
  }

  const RowRules rules_;
  const RecordLayout layout_;
  const RowKernels kernels_;
  const RowStore store_;
  const std::optional<double> min_score_;
  const uint32_t now_;
  const std::vector<uint16_t> halves_;
  std::vector<float> values_;
  std::vector<uint32_t> entry_;
};

RowFileHead ServingHead(const RowFileHead& of, const ServingOptions& options) {
  if (of.record != RecordKind::kTraining) Fail("an export for serving cannot be exported again");
  CheckTableConfig(of.config);
  RowFileHead head;
  head.config = of.config;
  head.commit = of.commit;
  head.record = RecordKind::kServing;
  head.serving_store = options.store;
  return head;
}

// Of what belongs to no key only the shared row is read.
TableExtras ServingExtras(const TableExtras& extras) {
  TableExtras kept;
  if (const auto shared = extras.find("shared"); shared != extras.end()) kept.insert(*shared);
  return kept;
}

}  // namespace

RowFileMark ExportServing(FileSystem& fs, const std::string& path, const RowBacking& rows,
                          const RowFileHead& of, const ServingOptions& options) {
  const RowFileHead head = ServingHead(of, options);
  Converter converter(of, head, options);
  RowFileWriter writer(fs, path, head);
  for (const RowClass c : kServedClasses) {
    if (rows.num_rows(c) == 0) continue;
    writer.BeginRows(c, rows.num_rows(c));
    rows.Scan(0, UINT64_MAX, [&](RowClass found, const uint32_t* record) {
      if (found == c && converter.Keeps(record)) writer.AddRow(converter.Convert(c, record));
    });
  }
  return writer.Finish(ServingExtras(rows.extras()));
}

RowFileMark ExportServingChanges(FileSystem& fs, const std::string& path,
                                 std::span<const RowFileRef> changes,
                                 const ServingOptions& options) {
  if (changes.empty()) Fail("there are no changes to export to {}", path);
  if (changes[0]->head().full) Fail("{} is a full file, not changes", changes[0]->path());
  CheckOverlaps(changes);
  RowFileHead head = ServingHead(changes.back()->head(), options);
  head.full = false;
  head.since = changes[0]->head().since;
  Converter converter(changes.back()->head(), head, options);
  RowFileWriter writer(fs, path, head);
  int64_t entries = 0;
  for (const RowFileRef& file : changes) {
    for (int s = 0; s < kRowSections; ++s) entries += file->section(s).count;
  }
  for (const RowClass c : kServedClasses) {
    writer.BeginRows(c, entries);
    for (RowMerge merge = RowMerge::OfSection(changes, static_cast<int>(c)); !merge.done();
         merge.Next()) {
      if (converter.Keeps(merge.record())) writer.AddRow(converter.Convert(c, merge.record()));
    }
  }
  writer.BeginDeleted(entries);
  for (RowMerge merge(changes); !merge.done(); merge.Next()) {
    // A key that waits to be admitted has no row either.
    const bool row = merge.section() == static_cast<int>(RowClass::kNarrow) ||
                     merge.section() == static_cast<int>(RowClass::kFull);
    if (!row || !converter.Keeps(merge.record())) writer.AddDeleted(merge.key());
  }
  return writer.Finish(ServingExtras(changes.back()->extras()));
}

}  // namespace catamaran
