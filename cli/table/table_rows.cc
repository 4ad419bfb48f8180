// cli/table/table_rows.cc

#include "cli/table/table_rows.h"

#include <algorithm>

#include "catamaran/commit/increments.h"
#include "catamaran/table/files/all_rows.h"

namespace catamaran::cli {
TableRows::TableRows(SavedTable saved) : saved_(std::move(saved)) {
  const bool changes_alone = !saved_.files.front()->head().full;
  if (!serving() && !changes_alone) chain_ = std::make_unique<RowChain>(saved_.files);
  policies_ = std::make_unique<TablePolicies>(config());
  const TableExtras& extras = saved_.newest().extras();
  if (!serving() && !extras.empty()) {
    try {
      policies_->Load(extras);
    } catch (const Error& error) {
      Fail(error.code(), "{}: {}", saved_.newest().path(), error.what());
    }
  }
  if (!saved_.cold.empty()) cold_ = OpenColdRows(config(), saved_.cold);
  TableConfig stored = config();
  stored.store = store();
  codec_ = std::make_unique<RowCodec>(stored);
}

TableRows::~TableRows() = default;

int64_t TableRows::num_rows(RowClass c) const {
  return chain_ ? chain_->num_rows(c) : saved_.newest().num_rows(c);
}
int64_t TableRows::rows_on_disk() const { return cold_ ? cold_->approximate_rows() : 0; }
int64_t TableRows::bytes_on_disk() const { return cold_ ? cold_->bytes_on_disk() : 0; }

void TableRows::Scan(uint64_t first, uint64_t last, Visit visit) const {
  if (chain_) return ScanAllRows(*chain_, cold_.get(), first, last, visit);
  for (int c = 0; c < kRowClasses; ++c) {
    const RowClass row_class = static_cast<RowClass>(c);
    saved_.newest().ScanRows(row_class, first, last,
                             [&](const uint32_t* record) { visit(row_class, record); });
  }
}

void TableRows::ForEach(Progress* progress, Visit visit) const {
  int64_t rows = rows_on_disk();
  for (int c = 0; c < kRowClasses; ++c) rows += num_rows(static_cast<RowClass>(c));
  const HashSlices slices(rows);
  for (uint64_t i = 0; i < slices.size(); ++i) {
    Scan(slices[i].first, slices[i].last, visit);
    if (progress != nullptr) {
      progress->Show(static_cast<double>(i + 1) / static_cast<double>(slices.size()));
    }
  }
}

TableRows::Found TableRows::Find(uint64_t key, RowClass* c, std::vector<uint32_t>* record) const {
  const uint32_t* words = nullptr;
  if (chain_) {
    words = chain_->Find(key, c);
  } else if (saved_.newest().Find(key, c, &words) == RowFile::Found::kDeleted) {
    return Found::kDeleted;
  }
  if (words != nullptr) {
    record->assign(words, words + saved_.newest().layout().of(*c).words);
    return Found::kRow;
  }
  return cold_ && cold_->Find(key, c, record) ? Found::kRow : Found::kNothing;
}

void TableRows::Read(RowClass c, const uint32_t* record, float* out) const {
  const RecordLayout::Class& row = saved_.newest().layout().of(c);
  codec_->Decode(record + row.embedding, row.columns, out);
  std::fill(out + row.columns, out + config().width, 0.0f);
}

uint64_t TableRows::KeyOf(const uint32_t* record) const {
  const int word = saved_.newest().layout().key_word;
  return uint64_t{record[word]} | uint64_t{record[word + 1]} << 32;
}

std::unique_ptr<RowChain> TableRows::MakeChain(FileSystem& fs, const std::string& scratch) const {
  if (!cold_) return std::make_unique<RowChain>(saved_.files);
  CompactChain(fs, scratch, *chain_, cold_.get());
  return std::make_unique<RowChain>(std::vector<RowFileRef>{RowFile::Open(fs, scratch)});
}

bool TableRows::WriteChangesSince(FileSystem& fs, uint64_t since, const std::string& path) const {
  if (static_cast<int64_t>(since) == saved_.newest().head().commit) return false;
  std::string why;
  if (!WriteTableIncrement(fs, saved_, since, path, &why)) {
    Fail(
        "{}: no increment since commit {}: {}. Resync: take an export without --since in place of "
        "what you have",
        saved_.where, since, why);
  }
  return true;
}

}  // namespace catamaran::cli
