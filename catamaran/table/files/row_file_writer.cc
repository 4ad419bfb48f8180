#include <algorithm>
#include <array>
#include <vector>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/table/files/block_writer.h"
#include "catamaran/table/files/fan_out.h"
#include "catamaran/table/files/row_file.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {
namespace {

constexpr size_t kKeysABreath = 512;

}  // namespace

using row_format::Store;

class RowFileWriter::Impl {
 public:
  Impl(FileSystem& fs, const std::string& path, const RowFileHead& head)
      : path_(path), head_(head), layout_(head.config, head.record, head.store()), out_(fs, path) {
    if (head.full ? head.since != 0 : head.since > head.commit) {
      Fail(ErrorCode::kInternal, "cannot write {}: changes since commit {} cannot end at commit {}",
           path, head.since, head.commit);
    }
    char start[row_format::kHeadBytes] = {};
    std::memcpy(start, row_format::kMagic, sizeof(row_format::kMagic));
    Store<uint32_t>(start + 8, row_format::kVersion);
    Store<uint32_t>(start + 12, row_format::kBlockBytes);
    out_.Append(start, sizeof(start));
  }

  void Begin(int s, int64_t about) {
    CATAMARAN_CHECK(s > section_ && s < kRowSections, "parts of {} must be written in order",
                    path_);
    CATAMARAN_CHECK(s != kDeletedSection || !head_.full, "{} is full and has deleted keys", path_);
    EndSection();
    section_ = s;
    words_ = s == kDeletedSection ? 2 : layout_.classes[static_cast<size_t>(s)].words;
    fan_out_ = FanOutBuilder(about);
    last_hash_ = 0;
    offset_ = out_.size();
  }

  void AddRow(const uint32_t* record) {
    CATAMARAN_CHECK(section_ >= 0 && section_ < kDeletedSection, "no rows have begun in {}", path_);
    const uint32_t* key = record + layout_.key_word;
    Count(uint64_t{key[0]} | uint64_t{key[1]} << 32);
    const size_t bytes = static_cast<size_t>(words_) * 4;
    if (std::byte* room = out_.Reserve(bytes)) {
      std::memcpy(room, record, bytes);
      ClearSequence(room);
      return;
    }
    std::memcpy(spare_.data(), record, bytes);
    ClearSequence(reinterpret_cast<std::byte*>(spare_.data()));
    out_.Append(spare_.data(), bytes);
  }

  void AddDeleted(uint64_t key) {
    CATAMARAN_CHECK(section_ == kDeletedSection, "deleted keys have not begun in {}", path_);
    Count(key);
    out_.Append(&key, sizeof(key));
  }

  int64_t count() const { return fan_out_.count(); }

  RowFileMark Finish(const TableExtras& extras) {
    EndSection();
    for (int s = 0; s < kRowSections; ++s) {
      Written& section = sections_[static_cast<size_t>(s)];
      if (section.fan_out.count() == 0) continue;
      section.fan_offset = out_.size();
      out_.Append(section.fan_out.data(), section.fan_out.bytes());
      out_.Align();
    }
    WriteExtras(extras);
    WriteDirectory(extras.size());
    return WriteFooter();
  }

 private:
  struct Written {
    uint64_t offset = 0;
    uint64_t fan_offset = 0;
    FanOutBuilder fan_out;
  };

  void ClearSequence(std::byte* record) const {
    if (head_.record != RecordKind::kTraining) return;
    std::byte* tag = record + row_words::kTag * 4;
    Store<uint32_t>(tag, row_format::Load<uint32_t>(tag) & 0xff);
  }

  void Count(uint64_t key) {
    const uint64_t hash = head_.config.Hash(key);
    if (hash <= last_hash_ && fan_out_.count() > 0) {
      Fail(ErrorCode::kInternal,
           "cannot write {}: key {} does not come after the one before in the order of hashes",
           path_, key);
    }
    last_hash_ = hash;
    fan_out_.Add(hash);
  }

  void EndSection() {
    if (section_ < 0) return;
    fan_out_.Finish();
    sections_[static_cast<size_t>(section_)] = {offset_, 0, std::move(fan_out_)};
    fan_out_ = FanOutBuilder();
    out_.Align();
  }

  void WriteExtras(const TableExtras& extras) {
    extras_offset_ = out_.size();
    for (const auto& [name, value] : extras) {
      char sizes[16] = {};
      Store<uint32_t>(sizes, static_cast<uint32_t>(name.size()));
      Store<uint64_t>(sizes + 8, value.size());
      out_.Append(sizes, sizeof(sizes));
      out_.Append(name.data(), name.size());
      out_.Append(value.data(), value.size());
    }
    extras_bytes_ = out_.size() - extras_offset_;
    out_.Align();
  }

  void WriteDirectory(size_t num_extras) {
    directory_offset_ = out_.size();
    char fixed[row_format::kDirectoryBytes] = {};
    Store<int64_t>(fixed, head_.since);
    Store<int64_t>(fixed + 8, head_.commit);
    for (size_t c = 0; c < kRowClasses; ++c) {
      const int64_t total = head_.full ? sections_[c].fan_out.count() : head_.total_rows[c];
      Store<int64_t>(fixed + 16 + 8 * c, total);
    }
    Store<uint64_t>(fixed + 40, extras_offset_);
    Store<uint64_t>(fixed + 48, extras_bytes_);
    Store<uint8_t>(fixed + 56, head_.full ? 1 : 0);
    Store<uint8_t>(fixed + 57, static_cast<uint8_t>(head_.record));
    Store<uint8_t>(fixed + 58, static_cast<uint8_t>(head_.store()));
    Store<uint32_t>(fixed + 60, static_cast<uint32_t>(num_extras));
    for (size_t s = 0; s < kRowSections; ++s) {
      const Written& section = sections_[s];
      char* to = fixed + 64 + s * row_format::kSectionBytes;
      Store<int64_t>(to, section.fan_out.count());
      if (section.fan_out.count() == 0) continue;
      Store<uint64_t>(to + 8, section.offset);
      Store<uint64_t>(to + 16, section.fan_offset);
      Store<uint32_t>(to + 24, static_cast<uint32_t>(section.fan_out.bits()));
      const int words = s == kDeletedSection ? 2 : layout_.classes[s].words;
      Store<uint32_t>(to + 28, static_cast<uint32_t>(words) * 4);
    }
    out_.Append(fixed, sizeof(fixed));
    const std::string description = DescribeTable(head_.config);
    out_.Append(description.data(), description.size());
    directory_bytes_ = out_.size() - directory_offset_;
    out_.Align();
  }

  RowFileMark WriteFooter() {
    const uint64_t body = out_.size();
    const std::vector<uint32_t>& checksums = out_.FinishBlocks();
    out_.Append(checksums.data(), checksums.size() * sizeof(uint32_t));
    char footer[row_format::kFooterBytes] = {};
    Store<uint64_t>(footer, body);
    Store<uint64_t>(footer + 8, directory_offset_);
    Store<uint64_t>(footer + 16, directory_bytes_);
    Store<uint32_t>(footer + 24, Crc32c(std::as_bytes(std::span(checksums))));
    const uint32_t root = Crc32c(std::string_view(footer, row_format::kRootOffset));
    Store<uint32_t>(footer + row_format::kRootOffset, root);
    std::memcpy(footer + 56, row_format::kEndMagic, sizeof(row_format::kEndMagic));
    out_.Append(footer, sizeof(footer));
    const RowFileMark mark = {out_.size(), root};
    out_.Finish();
    return mark;
  }

  const std::string path_;
  const RowFileHead head_;
  const RecordLayout layout_;
  BlockWriter out_;
  int section_ = -1;
  int words_ = 0;
  uint64_t offset_ = 0;
  uint64_t last_hash_ = 0;
  FanOutBuilder fan_out_;
  std::array<Written, kRowSections> sections_;
  std::array<uint32_t, row_format::kMaxRecordWords> spare_;
  uint64_t extras_offset_ = 0, extras_bytes_ = 0;
  uint64_t directory_offset_ = 0, directory_bytes_ = 0;
};

RowFileWriter::RowFileWriter(FileSystem& fs, const std::string& path, const RowFileHead& head)
    : impl_(std::make_unique<Impl>(fs, path, head)) {}
RowFileWriter::~RowFileWriter() = default;

void RowFileWriter::BeginRows(RowClass c, int64_t about) {
  impl_->Begin(static_cast<int>(c), about);
}
void RowFileWriter::AddRow(const uint32_t* record) { impl_->AddRow(record); }
void RowFileWriter::BeginDeleted(int64_t about) { impl_->Begin(kDeletedSection, about); }
void RowFileWriter::AddDeleted(uint64_t key) { impl_->AddDeleted(key); }
int64_t RowFileWriter::count() const { return impl_->count(); }
RowFileMark RowFileWriter::Finish(const TableExtras& extras) { return impl_->Finish(extras); }

RowFileMark WriteCut(FileSystem& fs, const std::string& path, RowFileHead head, TableCut& cut) {
  head.full = cut.full();
  if (head.full) head.since = 0;
  for (size_t c = 0; c < kRowClasses; ++c) head.total_rows[c] = cut.total_rows(RowClass(c));
  RowFileWriter writer(fs, path, head);
  for (int c = 0; c < kRowClasses; ++c) {
    const RowClass row_class = RowClass(c);
    const int64_t rows = cut.num_rows(row_class);
    if (rows == 0) continue;
    writer.BeginRows(row_class, rows);
    cut.ForEachRow(row_class, [&](const uint32_t* record) { writer.AddRow(record); });
    CATAMARAN_CHECK(writer.count() == rows, "a cut said that it has {} rows, and gave {}", rows,
                    writer.count());
  }
  if (!head.full && cut.num_deleted() > 0) {
    // A cut may give them in any order, and maybe one twice; most have them sorted.
    const auto before = [&](uint64_t a, uint64_t b) {
      return head.config.Hash(a) < head.config.Hash(b);
    };
    std::vector<uint64_t> deleted;
    bool sorted = true;
    deleted.reserve(static_cast<size_t>(cut.num_deleted()));
    cut.ForEachDeleted([&](uint64_t key) {
      sorted = sorted && (deleted.empty() || before(deleted.back(), key));
      deleted.push_back(key);
      if (deleted.size() % kKeysABreath == 0) Breathe();
    });
    if (!sorted) {
      std::sort(deleted.begin(), deleted.end(), before);
      deleted.erase(std::unique(deleted.begin(), deleted.end()), deleted.end());
    }
    writer.BeginDeleted(static_cast<int64_t>(deleted.size()));
    for (size_t i = 0; i < deleted.size(); ++i) {
      writer.AddDeleted(deleted[i]);
      if (i % kKeysABreath == 0) Breathe();
    }
  }
  return writer.Finish(cut.extras());
}

}  // namespace catamaran
