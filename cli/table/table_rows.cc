// cli/table/table_rows.cc

#include "cli/table/table_rows.h"

#include <algorithm>
#include <bit>

#include "catamaran/table/cold/disk_store.h"

namespace catamaran::cli {
namespace {

constexpr int64_t kRowsPerSlice = 8192;  // about

// Rows on disk, for WriteIncrement: it asks for one key after another, and is done with a record
// before it asks for the next.
class ColdRows final : public RowBacking {
 public:
  ColdRows(const DiskStore& store, const RowRules& rules) : store_(store), rules_(rules) {}

  const uint32_t* Find(uint64_t key, RowClass* c) const override {
    const uint64_t hash = rules_.config().Hash(key);
    bool found = false;
    store_.MultiGet({&hash, 1}, [&](size_t, RowClass row_class, const uint32_t* record) {
      *c = row_class;
      record_.assign(record, record + rules_.layout().of(row_class).words);
      found = true;
    });
    return found ? record_.data() : nullptr;
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit) const override {
    store_.Scan(first, last, visit);
  }
  int64_t num_rows(RowClass) const override { return store_.approximate_rows(); }
  const TableExtras& extras() const override { return extras_; }

 private:
  const DiskStore& store_;
  const RowRules& rules_;
  const TableExtras extras_;
  mutable std::vector<uint32_t> record_;
};

}  // namespace

TableRows::TableRows(SavedTable saved) : saved_(std::move(saved)) {
  const bool changes_alone = !saved_.files.front()->head().full;
  if (!serving() && !changes_alone) chain_ = std::make_unique<RowChain>(saved_.files);
  policies_ = std::make_unique<TablePolicies>(config());
  const TableExtras& extras = saved_.newest().extras();
  if (!serving() && !extras.empty()) {
    try {
      policies_->Load(extras);
    } catch (const Error& error) {
      Fail("{}: {}", saved_.newest().path(), error.what());
    }
  }
  if (!saved_.cold.empty()) cold_ = DiskStore::OpenCheckpoint(rules().layout(), saved_.cold);
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

void TableRows::ScanFiles(Slice slice, Visit visit) const {
  if (chain_) return chain_->Scan(slice.first, slice.last, visit);
  for (int c = 0; c < kRowClasses; ++c) {
    const RowClass row_class = static_cast<RowClass>(c);
    saved_.newest().ScanRows(row_class, slice.first, slice.last,
                             [&](const uint32_t* record) { visit(row_class, record); });
  }
}

void TableRows::ScanAll(Slice slice, Visit visit) const {
  if (!cold_) return ScanFiles(slice, visit);
  struct Place {
    RowClass row_class;
    uint64_t hash;
    size_t at;
  };
  std::vector<Place> places;
  std::vector<uint32_t> words;
  const auto keep = [&](RowClass c, const uint32_t* record) {
    places.push_back({c, config().Hash(RecordKey(record)), words.size()});
    words.insert(words.end(), record, record + rules().layout().of(c).words);
  };
  ScanFiles(slice, keep);
  cold_->Scan(slice.first, slice.last, [&](RowClass c, const uint32_t* record) {
    RowClass above;
    if (chain_->Find(RecordKey(record), &above) == nullptr) keep(c, record);
  });
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.row_class, a.hash) < std::pair(b.row_class, b.hash);
  });
  for (const Place& place : places) visit(place.row_class, words.data() + place.at);
}

void TableRows::ForEach(Progress* progress, Visit visit) const {
  int64_t rows = rows_on_disk();
  for (int c = 0; c < kRowClasses; ++c) rows += num_rows(static_cast<RowClass>(c));
  // A power of two, so that slices end where a prefix of the hash does.
  const uint64_t about = static_cast<uint64_t>(std::max<int64_t>(0, rows) / kRowsPerSlice);
  const int bits = std::min(static_cast<int>(std::bit_width(about)), 32);
  const uint64_t slices = uint64_t{1} << bits;
  for (uint64_t i = 0; i < slices; ++i) {
    const uint64_t first = bits == 0 ? 0 : i << (64 - bits);
    const uint64_t last = i + 1 == slices ? UINT64_MAX : ((i + 1) << (64 - bits)) - 1;
    ScanAll({first, last}, visit);
    if (progress != nullptr) {
      progress->Show(static_cast<double>(i + 1) / static_cast<double>(slices));
    }
  }
}

void TableRows::ForEachOf(RowClass c, Progress* progress, Visit visit) const {
  ForEach(progress, [&](RowClass found, const uint32_t* record) {
    if (found == c) visit(c, record);
  });
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
  Found found = Found::kNothing;
  if (cold_) {
    const uint64_t hash = config().Hash(key);
    cold_->MultiGet({&hash, 1}, [&](size_t, RowClass row_class, const uint32_t* cold) {
      *c = row_class;
      record->assign(cold, cold + rules().layout().of(row_class).words);
      found = Found::kRow;
    });
  }
  return found;
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
  RowFileHead head = saved_.newest().head();
  head.full = true;
  head.since = 0;
  RowFileWriter writer(fs, scratch, head);
  for (int c = 0; c < kRowClasses; ++c) {
    const RowClass row_class = static_cast<RowClass>(c);
    writer.BeginRows(row_class, num_rows(row_class) + rows_on_disk());
    ForEachOf(row_class, nullptr, [&](RowClass, const uint32_t* record) { writer.AddRow(record); });
  }
  writer.Finish(saved_.newest().extras());
  return std::make_unique<RowChain>(std::vector<RowFileRef>{RowFile::Open(fs, scratch)});
}

bool TableRows::WriteChangesSince(FileSystem& fs, int64_t since, const std::string& path) const {
  std::vector<RowFileRef> kept = saved_.files;
  kept.insert(kept.end(), saved_.kept.begin(), saved_.kept.end());
  const IncrementPlan plan = PlanIncrement(kept, since);
  if (!plan.resync && plan.changes.empty()) return false;
  std::string why;
  RowFileMark mark;
  std::optional<ColdRows> cold;
  if (cold_) cold.emplace(*cold_, rules());
  if (!WriteIncrement(fs, path, kept, since, &why, &mark, cold ? &*cold : nullptr)) {
    Fail(
        "{}: no increment since commit {}: {}. Resync: take an export without --since in place of "
        "what you have",
        saved_.where, since, why);
  }
  return true;
}

}  // namespace catamaran::cli
