#include "catamaran/table/files/row_file.h"

#include <algorithm>
#include <vector>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/table/files/checked_blocks.h"
#include "catamaran/table/files/row_cursor.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {

using row_format::Load;

namespace {

[[noreturn]] void FailDamaged(const std::string& path, const std::string& what) {
  Fail(ErrorCode::kStorage, "{} is damaged: {}", path, what);
}

// The footer, once its checksum and all sizes in it have been compared with the file.
struct Footer {
  uint64_t body = 0;
  uint64_t directory = 0;
  uint64_t directory_bytes = 0;
  uint64_t num_blocks = 0;
  uint32_t root = 0;
};

Footer ReadFooter(const MappedFile& file, const std::optional<RowFileMark>& expected) {
  const std::span<const std::byte> bytes = file.bytes();
  const std::string& path = file.path();
  if (expected && bytes.size() != expected->size) {
    FailDamaged(path, fmt::format("it has {} bytes, not the {} that were written", bytes.size(),
                                  expected->size));
  }
  if (bytes.size() < row_format::kHeadBytes) {
    FailDamaged(path, fmt::format("{} bytes are too few for a file of rows", bytes.size()));
  }
  if (std::memcmp(bytes.data(), row_format::kMagic, sizeof(row_format::kMagic)) != 0) {
    Fail(ErrorCode::kStorage, "{} is not a file of rows: it begins with other bytes", path);
  }
  if (const auto version = Load<uint32_t>(bytes.data() + 8); version != row_format::kVersion) {
    Fail(ErrorCode::kStorage,
         "{} has version {} of the format of row files; this build reads version {}", path, version,
         row_format::kVersion);
  }
  if (bytes.size() < row_format::kHeadBytes + row_format::kFooterBytes) {
    FailDamaged(path, fmt::format("{} bytes are too few for a file of rows", bytes.size()));
  }
  const std::byte* end = bytes.data() + bytes.size() - row_format::kFooterBytes;
  if (std::memcmp(end + 56, row_format::kEndMagic, sizeof(row_format::kEndMagic)) != 0) {
    FailDamaged(path, "its end is missing: it was cut short, or never finished");
  }
  Footer footer;
  footer.root = Load<uint32_t>(end + row_format::kRootOffset);
  const uint32_t found = Crc32c(std::span(end, row_format::kRootOffset));
  if (found != footer.root) {
    FailDamaged(path, fmt::format("its last {} bytes have the checksum {:08x}, not {:08x}",
                                  row_format::kFooterBytes, found, footer.root));
  }
  if (expected && footer.root != expected->root) {
    FailDamaged(path, fmt::format("its root checksum is {:08x}, not the {:08x} that was written",
                                  footer.root, expected->root));
  }
  footer.body = Load<uint64_t>(end);
  footer.directory = Load<uint64_t>(end + 8);
  footer.directory_bytes = Load<uint64_t>(end + 16);
  const uint64_t room = bytes.size() - row_format::kFooterBytes;
  footer.num_blocks =
      footer.body / row_format::kBlockBytes + (footer.body % row_format::kBlockBytes == 0 ? 0 : 1);
  if (footer.body > room || footer.num_blocks * 4 != room - footer.body ||
      footer.directory > footer.body || footer.directory % row_format::kAlignment != 0 ||
      footer.directory_bytes > footer.body - footer.directory ||
      footer.directory_bytes < row_format::kDirectoryBytes) {
    FailDamaged(path, fmt::format("{} bytes are not as many as its end calls for", bytes.size()));
  }
  const uint32_t sums = Crc32c(bytes.subspan(footer.body, footer.num_blocks * 4));
  if (const auto wanted = Load<uint32_t>(end + 24); sums != wanted) {
    FailDamaged(path, fmt::format("its table of checksums has the checksum {:08x}, not {:08x}",
                                  sums, wanted));
  }
  return footer;
}

}  // namespace

class RowFile::Impl {
 public:
  struct SectionPlus : Section {
    int fan_bits = 0;
    bool wide_fan = false;
    const std::byte* fan = nullptr;

    int64_t FanAt(uint64_t prefix) const {
      return wide_fan ? Load<int64_t>(fan + prefix * 8) : int64_t{Load<uint32_t>(fan + prefix * 4)};
    }
  };

  Impl(std::unique_ptr<MappedFile> mapped, const Options& options)
      : file(std::move(mapped)),
        footer(ReadFooter(*file, options.expected)),
        body(file->bytes().first(footer.body)),
        blocks(*file, body, file->bytes().data() + footer.body) {
    ReadDirectory();
    seed_mix = Mix64(head.config.seed);
  }

  void ReadDirectory() {
    blocks.Check(0, row_format::kHeadBytes);
    blocks.Check(footer.directory, footer.directory + footer.directory_bytes);
    const std::byte* at = body.data() + footer.directory;
    head.since = Load<int64_t>(at);
    head.commit = Load<int64_t>(at + 8);
    head.full = Load<uint8_t>(at + 56) == 1;
    head.record = RecordKind(Load<uint8_t>(at + 57));
    const auto store = Load<uint8_t>(at + 58);
    if (Load<uint8_t>(at + 56) > 1 || store > static_cast<uint8_t>(RowStore::kInt8) ||
        (head.record != RecordKind::kTraining && head.record != RecordKind::kServing)) {
      Fail(ErrorCode::kStorage, "{} holds a kind of rows that this build does not know", path());
    }
    const char* text = reinterpret_cast<const char*>(at) + row_format::kDirectoryBytes;
    try {
      head.config = ParseTableDescription(
          {text, static_cast<size_t>(footer.directory_bytes - row_format::kDirectoryBytes)});
    } catch (const Error& error) {
      Fail(error.code(), "cannot read {}: {}", path(), error.what());
    }
    head.serving_store = RowStore(store);
    layout.emplace(head.config, head.record, head.serving_store);
    for (size_t s = 0; s < kRowSections; ++s) {
      ReadSection(s, at + 64 + s * row_format::kSectionBytes);
    }
    for (size_t c = 0; c < kRowClasses; ++c) head.total_rows[c] = Load<int64_t>(at + 16 + 8 * c);
    ReadExtras(Load<uint64_t>(at + 40), Load<uint64_t>(at + 48), Load<uint32_t>(at + 60));
  }

  // An Error unless [offset, offset + bytes) lies in the body.
  void CheckRange(std::string_view what, uint64_t offset, uint64_t bytes) const {
    if (offset > body.size() || bytes > body.size() - offset ||
        offset % row_format::kAlignment != 0) {
      FailDamaged(path(), fmt::format("{}, {} bytes at offset {}, are not in the file", what, bytes,
                                      offset));
    }
  }

  void ReadSection(size_t s, const std::byte* at) {
    SectionPlus& section = sections[s];
    const int words = s == kDeletedSection ? 2 : layout->classes[s].words;
    section.stride = static_cast<uint32_t>(words) * 4;
    section.key_offset = s == kDeletedSection ? 0 : static_cast<uint32_t>(layout->key_word) * 4;
    section.count = Load<int64_t>(at);
    if (section.count == 0) return;
    section.offset = Load<uint64_t>(at + 8);
    const uint64_t fan_offset = Load<uint64_t>(at + 16);
    const uint32_t bits = Load<uint32_t>(at + 24);
    const uint32_t stride = Load<uint32_t>(at + 28);
    if (stride != section.stride) {
      FailDamaged(path(), fmt::format("its rows have {} bytes, and those of its table have {}",
                                      stride, section.stride));
    }
    const auto count = static_cast<uint64_t>(section.count);
    if (section.count < 0 || count > body.size() / section.stride ||
        bits > uint32_t{row_format::kMaxFanBits}) {
      FailDamaged(path(), fmt::format("{} rows do not fit into it", section.count));
    }
    CheckRange("its rows", section.offset, count * section.stride);
    section.data = body.data() + section.offset;
    section.fan_bits = static_cast<int>(bits);
    const size_t entry = row_format::FanEntryBytes(section.count);
    section.wide_fan = entry == 8;
    const uint64_t fan_bytes = ((uint64_t{1} << bits) + 1) * entry;
    CheckRange("its fan-out table", fan_offset, fan_bytes);
    blocks.Check(fan_offset, fan_offset + fan_bytes);
    section.fan = body.data() + fan_offset;
  }

  void ReadExtras(uint64_t offset, uint64_t bytes, uint32_t count) {
    CheckRange("its extras", offset, bytes);
    blocks.Check(offset, offset + bytes);
    const char* at = reinterpret_cast<const char*>(body.data()) + offset;
    uint64_t left = bytes;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t name = left < 16 ? 0 : Load<uint32_t>(at);
      const uint64_t value = left < 16 ? 0 : Load<uint64_t>(at + 8);
      if (left < 16 || name > left - 16 || value > left - 16 - name) {
        FailDamaged(path(), "its extras are longer than the room they have");
      }
      extras[std::string(at + 16, name)] = std::string(at + 16 + name, value);
      at += 16 + name + value;
      left -= 16 + name + value;
    }
  }

  // The entries whose hash has the prefix of `hash`.
  std::pair<int64_t, int64_t> Range(const SectionPlus& section, uint64_t hash) const {
    const uint64_t prefix = row_format::FanPrefix(hash, section.fan_bits);
    const int64_t begin = section.FanAt(prefix), end = section.FanAt(prefix + 1);
    if (begin < 0 || begin > end || end > section.count) [[unlikely]] {
      FailDamaged(path(), fmt::format("entry {} of its fan-out table makes no sense", prefix));
    }
    return {begin, end};
  }

  uint64_t HashOf(const SectionPlus& section, int64_t i) const {
    const uint64_t at = static_cast<uint64_t>(i) * section.stride;
    blocks.Check(section.offset + at, section.offset + at + section.stride);
    return Mix64(Load<uint64_t>(section.data + at + section.key_offset) ^ seed_mix);
  }

  // About where an entry is in the range of its prefix: hashes are spread evenly.
  static int64_t Guess(const SectionPlus& section, uint64_t hash, int64_t low, int64_t high) {
    const auto rows = static_cast<uint64_t>(high - low);
    const uint64_t within = hash << section.fan_bits;
    return low + static_cast<int64_t>((static_cast<unsigned __int128>(within) * rows) >> 64);
  }

  // The first entry of the section with a hash >= `hash`, and whether that is `hash`. It is
  // near the guess; where hashes are not spread evenly, halving finds it.
  int64_t LowerBound(const SectionPlus& section, uint64_t hash, bool* equal) const {
    auto [low, high] = Range(section, hash);
    int64_t at = Guess(section, hash, low, high);
    // Entries below `low` are below `hash`, entries from `high` on are above it.
    for (int tries = 0; low < high; ++tries) {
      const uint64_t found = HashOf(section, at);
      if (found == hash) {
        *equal = true;
        return at;
      }
      if (found < hash) {
        low = at + 1;
      } else {
        high = at;
      }
      at = tries >= 8 ? low + (high - low) / 2 : found < hash ? low : high - 1;
    }
    *equal = false;
    return low;
  }

  const std::string& path() const { return file->path(); }

  const std::unique_ptr<MappedFile> file;
  const Footer footer;
  const std::span<const std::byte> body;
  const CheckedBlocks blocks;
  RowFileHead head;
  std::optional<RecordLayout> layout;
  uint64_t seed_mix = 0;
  std::array<SectionPlus, kRowSections> sections;
  TableExtras extras;
};

RowFile::RowFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowFile::~RowFile() = default;

std::shared_ptr<const RowFile> RowFile::Open(const FileSystem& fs, const std::string& path,
                                             const Options& options) {
  std::shared_ptr<const RowFile> file(new RowFile(std::make_unique<Impl>(fs.Map(path), options)));
  if (options.verify_all) file->CheckBlocks();
  return file;
}

const std::string& RowFile::path() const { return impl_->path(); }
RowFileMark RowFile::mark() const { return {impl_->file->bytes().size(), impl_->footer.root}; }
const RowFileHead& RowFile::head() const { return impl_->head; }
const RecordLayout& RowFile::layout() const { return *impl_->layout; }
const TableExtras& RowFile::extras() const { return impl_->extras; }
const MappedFile& RowFile::file() const { return *impl_->file; }
const RowFile::Section& RowFile::section(int s) const {
  return impl_->sections[static_cast<size_t>(s)];
}

RowFile::Found RowFile::Find(uint64_t key, RowClass* c, const uint32_t** record) const {
  return FindHash(Mix64(key ^ impl_->seed_mix), c, record);
}

RowFile::Found RowFile::FindHash(uint64_t hash, RowClass* c, const uint32_t** record) const {
  for (int s = kDeletedSection; s >= 0; --s) {
    const Impl::SectionPlus& section = impl_->sections[static_cast<size_t>(s)];
    if (section.count == 0) continue;
    bool equal;
    const int64_t i = impl_->LowerBound(section, hash, &equal);
    if (!equal) continue;
    if (s == kDeletedSection) return Found::kDeleted;
    *c = RowClass(s);
    *record = reinterpret_cast<const uint32_t*>(section.data + i * int64_t{section.stride});
    return Found::kRow;
  }
  return Found::kNothing;
}

void RowFile::PrefetchFanOut(uint64_t hash) const {
  for (const Impl::SectionPlus& section : impl_->sections) {
    if (section.count == 0) continue;
    const uint64_t prefix = row_format::FanPrefix(hash, section.fan_bits);
    __builtin_prefetch(section.fan + prefix * (section.wide_fan ? 8 : 4));
  }
}

void RowFile::PrefetchEntry(uint64_t hash) const {
  for (const Impl::SectionPlus& section : impl_->sections) {
    if (section.count == 0) continue;
    const auto [low, high] = impl_->Range(section, hash);
    const int64_t at = Impl::Guess(section, hash, low, high);
    const std::byte* entry = section.data + at * int64_t{section.stride};
    __builtin_prefetch(entry + section.key_offset);
    // A prefetch beyond the last entry hurts nobody.
    for (uint32_t i = 64; i < section.stride + 64 && i <= 256; i += 64)
      __builtin_prefetch(entry + i);
  }
}

int64_t RowFile::LowerBound(int s, uint64_t hash) const {
  const Impl::SectionPlus& section = impl_->sections[static_cast<size_t>(s)];
  bool equal;
  return section.count == 0 ? 0 : impl_->LowerBound(section, hash, &equal);
}

uint64_t RowFile::HashAt(int s, int64_t i) const {
  return impl_->HashOf(impl_->sections[static_cast<size_t>(s)], i);
}

void RowFile::CheckEntries(int s, int64_t i, int64_t j) const {
  const Section& section = impl_->sections[static_cast<size_t>(s)];
  impl_->blocks.Check(section.offset + static_cast<uint64_t>(i) * section.stride,
                      section.offset + static_cast<uint64_t>(j) * section.stride);
}

void RowFile::CheckBlocks() const {
  constexpr uint64_t kAhead = uint64_t{16} << 20;
  for (uint64_t at = 0; at < impl_->body.size(); at += kAhead) {
    impl_->file->WillNeed(at + kAhead, kAhead);
    impl_->blocks.Check(at, std::min<uint64_t>(at + kAhead, impl_->body.size()));
  }
}

void RowFile::ScanRows(RowClass c, uint64_t first, uint64_t last,
                       FunctionRef<void(const uint32_t* record)> visit) const {
  for (RowCursor cursor(*this, static_cast<int>(c), first, last); !cursor.done(); cursor.Next()) {
    visit(cursor.record());
  }
}

void RowFile::ScanDeleted(uint64_t first, uint64_t last,
                          FunctionRef<void(uint64_t key)> visit) const {
  for (RowCursor cursor(*this, kDeletedSection, first, last); !cursor.done(); cursor.Next()) {
    visit(cursor.key());
  }
}

}  // namespace catamaran
