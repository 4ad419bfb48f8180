#include "catamaran/table/files/serving_table.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/table/row_rules.h"
#include "catamaran/table/shared_row.h"

namespace catamaran {

class ServingTable::Impl {
 public:
  explicit Impl(std::vector<RowFileRef> row_files)
      : files(std::move(row_files)), rules(files.back()->config()) {
    rows = CountRows(files);
    for (const RowFileRef& file : files) {
      TableConfig stored = file->config();
      stored.store = file->head().store();
      codecs.emplace_back(stored);
    }
    if (rules.config().unadmitted == Unadmitted::kShared) {
      const auto extra = files.back()->extras().find("shared");
      if (extra == files.back()->extras().end()) {
        Fail(ErrorCode::kStorage, "{} has no shared row, which its table declares",
             files.back()->path());
      }
      SharedRow row(rules.config());
      row.Load(extra->second);
      shared.resize(static_cast<size_t>(rules.config().width));
      row.Read(shared.data());
    }
  }

  void ReadMissing(uint64_t key, float* out) const {
    const auto width = static_cast<size_t>(rules.config().width);
    switch (rules.config().unadmitted) {
      case Unadmitted::kInit:
        return rules.ReadInitial(key, out);
      case Unadmitted::kZeros:
        std::fill_n(out, width, 0.0f);
        return;
      case Unadmitted::kShared:
        std::copy(shared.begin(), shared.end(), out);
        return;
    }
  }

  void Read(uint64_t key, uint64_t hash, float* out) const {
    for (size_t f = files.size(); f-- > 0;) {
      RowClass c;
      const uint32_t* record;
      const RowFile::Found found = files[f]->FindHash(hash, &c, &record);
      if (found == RowFile::Found::kNothing) continue;
      if (found == RowFile::Found::kDeleted) break;
      const RecordLayout::Class& row = files[f]->layout().of(c);
      codecs[f].Decode(record + row.embedding, row.columns, out);
      std::fill(out + row.columns, out + rules.config().width, 0.0f);
      return;
    }
    ReadMissing(key, out);
  }

  // Keys are taken in groups: what each step needs of memory is asked for before it is used.
  void Pull(std::span<const uint64_t> keys, float* out) const {
    constexpr size_t kGroup = 32;
    uint64_t hashes[kGroup];
    const auto width = static_cast<size_t>(rules.config().width);
    for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, keys.size() - begin);
      for (size_t i = 0; i < count; ++i) hashes[i] = rules.config().Hash(keys[begin + i]);
      for (const RowFileRef& file : files) {
        for (size_t i = 0; i < count; ++i) file->PrefetchFanOut(hashes[i]);
      }
      for (const RowFileRef& file : files) {
        for (size_t i = 0; i < count; ++i) file->PrefetchEntry(hashes[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        Read(keys[begin + i], hashes[i], out + (begin + i) * width);
      }
    }
  }

  std::vector<RowFileRef> files;
  const RowRules rules;
  std::vector<RowCodec> codecs;  // of each file
  std::vector<float> shared;
  std::array<int64_t, kRowClasses> rows{};
};

ServingTable::ServingTable(std::vector<RowFileRef> files) {
  if (files.empty()) Fail("a serving table needs at least one file");
  const RowFile& first = *files[0];
  if (first.head().record != RecordKind::kServing) {
    Fail("{} is no export for serving", first.path());
  }
  if (!first.head().full) {
    Fail("{} has only the changes since commit {}: a serving table begins with a full export",
         first.path(), first.head().since);
  }
  CheckOverlaps(files);
  CheckTableConfig(files.back()->config());
  impl_ = std::make_unique<Impl>(std::move(files));
}

ServingTable::~ServingTable() = default;

std::unique_ptr<ServingTable> ServingTable::With(RowFileRef changes) const {
  std::vector<RowFileRef> files = impl_->files;
  files.push_back(std::move(changes));
  return std::make_unique<ServingTable>(std::move(files));
}

int64_t ServingTable::commit() const { return impl_->files.back()->head().commit; }
const TableConfig& ServingTable::config() const { return impl_->rules.config(); }
int64_t ServingTable::width() const { return config().width; }

int64_t ServingTable::size() const {
  int64_t rows = 0;
  for (const int64_t of_class : impl_->rows) rows += of_class;
  return rows;
}

TableInfo ServingTable::Info() const {
  TableInfo info;
  info.rows = size();
  info.narrow_rows = impl_->rows[static_cast<size_t>(RowClass::kNarrow)];
  for (const RowFileRef& file : impl_->files) {
    info.bytes_on_disk += static_cast<int64_t>(file->mark().size);
  }
  info.pages = "mapped file";
  return info;
}

void ServingTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  CATAMARAN_CHECK(out.size() == keys.size() * static_cast<size_t>(width()));
  try {
    impl_->Pull(keys, out.data());
  } catch (const Error&) {
    return done(std::current_exception());
  }
  done();
}

void ServingTable::Prepare(const TableStep& /*step*/) {
  Fail("{} is an export for serving: its rows have no slots and cannot be trained",
       impl_->files[0]->path());
}

int64_t ServingTable::ApplyPrepared() {
  CATAMARAN_CHECK(false, "no step can be prepared");
  return 0;
}

int64_t ServingTable::Expire(int64_t /*now*/) {
  Fail("{} is an export for serving: rows expire where they are trained", impl_->files[0]->path());
}

}  // namespace catamaran
