#include "catamaran/table/memory/shard_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// How much smaller than a full one the smallest segment is, as a power of two.
constexpr int kSmallestShift = 6;
// Directories are not indexed by more bits than this, with those of the shard.
constexpr int kMaxDirectoryBits = 28;

// The smallest directory has as many entries as this many bits say: those of a cache line, so that
// six bits of an address of entries are 0 (SetDirectory).
constexpr int kSmallestDirectoryBits = 3;

uint64_t* NewDirectory(size_t size) {
  return static_cast<uint64_t*>(
      ::operator new (sizeof(uint64_t) * size, std::align_val_t{alignof(IndexLine)}));
}
void DeleteDirectory(void* entries) {
  ::operator delete (entries, std::align_val_t{alignof(IndexLine)});
}

}  // namespace

int ShardIndex::FullBlockLines(uint64_t hash) {
  // How many of them fill a piece of memory: sixteen steps within a factor of two, each by the same
  // factor as nearly as whole blocks allow.
  static constexpr std::array<int, 16> kBlocks = {32, 31, 29, 28, 27, 26, 25, 24,
                                                  23, 22, 21, 20, 19, 18, 17, 17};
  return IndexMemory::kPieceLines / kBlocks[hash >> 60];
}

ShardIndex::ShardIndex(int shard_bits, uint64_t shard, const ShardRows& rows, Epochs& epochs,
                       size_t reserve_bytes, PageMode mode, int fill)
    : shard_bits_(shard_bits),
      shard_(shard),
      fill_(fill),
      rows_(rows),
      epochs_(epochs),
      memory_(reserve_bytes, mode) {
  const uint64_t hash = shard_bits == 0 ? 0 : shard << (64 - shard_bits);
  const SegmentRef segment = NewSegment(FullBlockLines(hash) >> kSmallestShift, shard_bits);
  constexpr size_t kSize = size_t{1} << kSmallestDirectoryBits;
  uint64_t* entries = NewDirectory(kSize);
  std::fill_n(entries, kSize, segment.bits());
  SetDirectory(entries, shard_bits + kSmallestDirectoryBits);
  segments_ = 1;
}

ShardIndex::~ShardIndex() {
  for (size_t i = 0; i < DirectorySize();) {
    const SegmentRef segment(directory_[i]);
    memory_.Free(segment.lines() - 1, static_cast<int>(segment.num_lines()) + 1);
    i += size_t{1} << (directory_depth_ - segment.depth());
  }
  for (const Retired& old : retired_) {
    if (old.lines > 0) {
      memory_.Free(static_cast<IndexLine*>(old.memory), old.lines);
    } else {
      DeleteDirectory(old.memory);
    }
  }
  DeleteDirectory(directory_);
}

// --- Entries.

void ShardIndex::Place(SegmentRef segment, uint64_t hash, RowHandle handle) const {
  IndexLine* const lines = segment.lines();
  const uint32_t home = Home(hash, segment);
  uint32_t at = home;
  uint32_t distance = 0;
  EntryMask empty;
  while ((empty = lines[at].Empty()) == 0) {
    ++distance;
    if (++at == segment.num_lines()) at = 0;
  }
  lines[at].Put(__builtin_ctz(empty), hash, handle);
  if (distance > 0) lines[home].AddOverflow(distance);
  ++HeaderOf(segment).count;
}

void ShardIndex::Insert(uint64_t hash, RowHandle handle) {
  const SegmentRef segment = Segment(hash);
  Place(segment, hash, handle);
  // It could not grow.
  if (HeaderOf(segment).count > Limit(segment.num_lines())) least_slack_ = 0;
}

ShardIndex::Entry ShardIndex::Locate(uint64_t hash, RowHandle handle) const {
  const SegmentRef segment = Segment(hash);
  uint32_t at = Home(hash, segment);
  for (uint32_t distance = 0; distance < segment.num_lines(); ++distance) {
    IndexLine& line = segment.lines()[at];
    for (EntryMask match = line.Match(hash).entries; match != 0; match &= match - 1) {
      const int number = __builtin_ctz(match);
      if (line.Handle(number) == handle) return {&line, number, distance};
    }
    if (++at == segment.num_lines()) at = 0;
  }
  Fail(ErrorCode::kInternal,
       "internal error: the index of a table has no entry for one of its rows");
}

void ShardIndex::Remove(uint64_t hash, RowHandle handle) {
  const Entry entry = Locate(hash, handle);
  const SegmentRef segment = Segment(hash);
  entry.line->Clear(entry.number);
  if (entry.distance > 0) segment.lines()[Home(hash, segment)].RemoveOverflow();
  const int64_t count = --HeaderOf(segment).count;
  if (count >= Limit(segment.num_lines()) / 4) return;
  const int block = static_cast<int>(segment.num_lines()) + 1;
  if (block / 2 < FullBlockLines(hash) >> kSmallestShift) return;
  try {
    Rebuild(hash, block / 2);
  } catch (...) {
    // No memory for the smaller one: then it stays as it is.
  }
}

void ShardIndex::Replace(uint64_t hash, RowHandle from, RowHandle to) {
  const Entry entry = Locate(hash, from);
  entry.line->Replace(entry.number, hash, to);
}

template <class Visit>
void ShardIndex::ForEachEntry(SegmentRef segment, uint32_t line, uint32_t num_lines,
                              Visit&& visit) const {
  // Rows are far away: some lines' worth of them are asked for at once.
  constexpr uint32_t kLines = 16;
  std::array<RowHandle, kLines * IndexLine::kEntries> handles;
  while (num_lines > 0) {
    size_t n = 0;
    const uint32_t some = std::min(num_lines, kLines);
    for (uint32_t i = 0; i < some; ++i) {
      const IndexLine& at = segment.lines()[line];
      if (++line == segment.num_lines()) line = 0;
      const EntryMask used = ~at.Empty() & IndexLine::kAllEntries;
      for (EntryMask mask = used; mask != 0; mask &= mask - 1) {
        handles[n] = at.Handle(__builtin_ctz(mask));
        rows_.PrefetchKey(handles[n++]);
      }
    }
    num_lines -= some;
    for (size_t i = 0; i < n; ++i) visit(handles[i]);
  }
}

ShardIndex::FirstAndLast ShardIndex::Range(uint64_t hash, SegmentRef segment) const {
  const int bits = segment.depth();
  const uint64_t rest = bits == 0 ? UINT64_MAX : (uint64_t{1} << (64 - bits)) - 1;
  return {hash & ~rest, hash | rest};
}

void ShardIndex::Walk(uint64_t first, uint64_t last, FunctionRef<void(RowHandle)> visit) const {
  for (;;) {
    const SegmentRef segment = Segment(first);
    const auto [segment_first, segment_last] = Range(first, segment);
    const uint32_t begin = Home(first, segment);
    const uint32_t end = Home(std::min(last, segment_last), segment) + 1;
    // Entries that did not fit into their homes lie beyond the end.
    uint32_t reach = end;
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t away = IndexLine::Reach(segment.lines()[i].State());
      reach = std::max(reach, i + 1 + (away == IndexLine::kMaxReach ? segment.num_lines() : away));
    }
    ForEachEntry(segment, begin, std::min(reach - begin, segment.num_lines()), visit);
    if (segment_last >= last) return;
    first = segment_last + 1;
  }
}

// --- Segments.

int ShardIndex::HandleBits() const {
  uint32_t next = 0;
  for (int i = 0; i < kRowClasses; ++i) {
    const auto c = static_cast<RowClass>(i);
    next = std::max(next, RowHandle(c, static_cast<uint32_t>(rows_.of(c).count())).bits());
  }
  return std::clamp(std::max(static_cast<int>(std::bit_width(next)) + 1, reserved_bits_),
                    IndexLine::kMinHandleBits, RowHandle::kMaxBits);
}

SegmentRef ShardIndex::NewSegment(int block_lines, int depth) {
  const SegmentRef segment(memory_.Allocate(block_lines) + 1, block_lines - 1, depth);
  const int bits = HandleBits();
  HeaderOf(segment).handle_bits = bits;
  fitting_bits_ = std::min(fitting_bits_, bits);
  least_slack_ = std::min(least_slack_, Capacity(segment) - Limit(segment.num_lines()));
  if (bits > IndexLine::kMinHandleBits) {
    for (uint32_t i = 0; i < segment.num_lines(); ++i) segment.lines()[i].SetHandleBits(bits);
  }
  return segment;
}

void ShardIndex::Publish(uint64_t hash, SegmentRef segment) {
  const uint64_t place = (hash >> (64 - directory_depth_)) & (DirectorySize() - 1);
  const uint64_t same = uint64_t{1} << (directory_depth_ - segment.depth());
  uint64_t* first = directory_ + (place & ~(same - 1));
  for (uint64_t i = 0; i < same; ++i) {
    __atomic_store_n(first + i, segment.bits(), __ATOMIC_RELEASE);
  }
}

void ShardIndex::RetireSegment(SegmentRef segment) {
  retired_.push_back(
      {segment.lines() - 1, static_cast<int>(segment.num_lines()) + 1, epochs_.Retire()});
}

void ShardIndex::MakeHandleFit(uint64_t hash, RowHandle handle) {
  if (!HandleFits(hash, handle)) Rebuild(hash, static_cast<int>(Segment(hash).num_lines()) + 1);
}

void ShardIndex::Grow(uint64_t hash) {
  const SegmentRef segment = Segment(hash);
  const int block = static_cast<int>(segment.num_lines()) + 1;
  const int full = FullBlockLines(hash);
  if (block < full) {
    int shift = kSmallestShift;
    while (full >> shift <= block) --shift;
    Rebuild(hash, full >> shift);
  } else if (segment.depth() < directory_depth_ || MayDoubleDirectory()) {
    Split(hash);
  } else if (2 * block <= kMaxSegmentLines) {
    Rebuild(hash, 2 * block);
  } else {
    Fail(ErrorCode::kResourceExhausted,
         "table: more than {} keys whose hashes begin with the same {} bits",
         HeaderOf(segment).count, segment.depth());
  }
}

// What becomes of old segments and directories takes no memory when there is no way back.
void ShardIndex::MakeRoomToRetire() {
  constexpr size_t kAtOnce = 2;
  if (retired_.size() + kAtOnce > retired_.capacity()) {
    retired_.reserve(2 * retired_.capacity() + kAtOnce);
  }
}

void ShardIndex::Rebuild(uint64_t hash, int block_lines) {
  MakeRoomToRetire();
  const SegmentRef old = Segment(hash);
  const SegmentRef made = NewSegment(block_lines, old.depth());
  ForEachEntry(old, 0, old.num_lines(),
               [&](RowHandle handle) { Place(made, rows_.HashOf(handle), handle); });
  Publish(hash, made);
  RetireSegment(old);
  FreeRetired();
}

void ShardIndex::Split(uint64_t hash) {
  MakeRoomToRetire();
  const SegmentRef old = Segment(hash);
  const int depth = old.depth() + 1;
  const int block = static_cast<int>(old.num_lines()) + 1;
  if (depth > directory_depth_) DoubleDirectory();
  const SegmentRef low = NewSegment(block, depth);
  SegmentRef high;
  try {
    high = NewSegment(block, depth);
  } catch (...) {
    memory_.Free(low.lines() - 1, block);
    throw;
  }
  const uint64_t bit = uint64_t{1} << (64 - depth);
  ForEachEntry(old, 0, old.num_lines(), [&](RowHandle handle) {
    const uint64_t h = rows_.HashOf(handle);
    Place((h & bit) != 0 ? high : low, h, handle);
  });
  Publish(hash & ~bit, low);
  Publish(hash | bit, high);
  ++segments_;
  RetireSegment(old);
  FreeRetired();
}

// --- Room ahead.

template <class Visit>
void ShardIndex::ForEachSegment(Visit&& visit) const {
  for (size_t i = 0; i < DirectorySize();) {
    const SegmentRef segment(directory_[i]);
    visit(i, segment);
    i += size_t{1} << (directory_depth_ - segment.depth());
  }
}

void ShardIndex::ReserveHandleBits(int bits) {
  reserved_bits_ = bits;
  if (bits <= fitting_bits_) return;
  std::vector<uint64_t> narrow;
  int least = RowHandle::kMaxBits;
  ForEachSegment([&](size_t place, SegmentRef segment) {
    const int has = HeaderOf(segment).handle_bits;
    if (has < bits) {
      narrow.push_back(HashAt(place));
    } else {
      least = std::min(least, has);
    }
  });
  for (const uint64_t hash : narrow) {
    Rebuild(hash, static_cast<int>(Segment(hash).num_lines()) + 1);
  }
  fitting_bits_ = std::min(least, HandleBits());
}

int64_t ShardIndex::WantedOf(size_t place, SegmentRef segment) const {
  const size_t places = size_t{1} << (directory_depth_ - segment.depth());
  int64_t sum = 0;
  for (size_t i = place; i < place + places; ++i) sum += wanted_[i];
  return sum;
}

std::vector<size_t> ShardIndex::FullPlaces() const {
  std::vector<size_t> full;
  ForEachSegment([&](size_t place, SegmentRef segment) {
    const int64_t wanted = WantedOf(place, segment);
    // Mostly this needs no look at the segment, which would have to come from memory.
    if (wanted <= least_slack_) return;
    if (HeaderOf(segment).count + wanted > Capacity(segment)) full.push_back(place);
  });
  return full;
}

bool ShardIndex::GrowFor(std::span<const Wanted> keys, FunctionRef<bool(const Wanted&)> is_there) {
  // First as if no key were there; where that is too much, only those that are not.
  BeginWanted();
  for (const Wanted& key : keys) Want(key.hash);
  const std::vector<size_t> full = FullPlaces();
  if (full.empty()) return false;
  std::vector<bool> is_full(DirectorySize());
  for (const size_t place : full) {
    const size_t places = size_t{1} << (directory_depth_ - SegmentRef(directory_[place]).depth());
    for (size_t i = place; i < place + places; ++i) {
      wanted_[i] = 0;
      is_full[i] = true;
    }
  }
  for (const Wanted& key : keys) {
    if (is_full[PlaceInDirectory(key.hash)] && !is_there(key)) Want(key.hash);
  }
  std::vector<uint64_t> grow;
  for (const size_t place : full) {
    const SegmentRef segment(directory_[place]);
    if (HeaderOf(segment).count + WantedOf(place, segment) > Capacity(segment)) {
      grow.push_back(HashAt(place));
    }
  }
  for (const uint64_t hash : grow) Grow(hash);
  return !grow.empty();
}

void ShardIndex::Reserve(std::span<const Wanted> keys, int handle_bits,
                         FunctionRef<bool(const Wanted&)> is_there) {
  ReserveHandleBits(std::min(handle_bits, RowHandle::kMaxBits));
  if (static_cast<int64_t>(keys.size()) <= least_slack_) return;
  bool grown = false;
  while (GrowFor(keys, is_there)) grown = true;
  if (!grown && least_slack_ > 0) return;
  int64_t least = INT64_MAX;
  ForEachSegment([&](size_t, SegmentRef segment) {
    const int64_t limit = std::max(Limit(segment.num_lines()), HeaderOf(segment).count);
    least = std::min(least, Capacity(segment) - limit);
  });
  least_slack_ = least;
}

// --- Directories.

bool ShardIndex::MayDoubleDirectory() const {
  // Keys that somebody chose could make it long for nothing.
  return directory_depth_ < kMaxDirectoryBits &&
         static_cast<int64_t>(DirectorySize()) <= 64 + 8 * segments_;
}

void ShardIndex::SetDirectory(uint64_t* entries, int depth) {
  directory_ = entries;
  directory_depth_ = depth;
  // As if it began with the entries of all shards before this one: then the first bits of a hash
  // are the number of its entry.
  const uint64_t before = shard_ << (depth - shard_bits_);
  root_.store((reinterpret_cast<uint64_t>(entries) - sizeof(uint64_t) * before) |
                  static_cast<uint64_t>(64 - depth),
              std::memory_order_release);
  directory_bytes_.store(static_cast<int64_t>(sizeof(uint64_t) * DirectorySize()),
                         std::memory_order_relaxed);
}

void ShardIndex::DoubleDirectory() {
  uint64_t* const old = directory_;
  const size_t size = DirectorySize();
  uint64_t* const made = NewDirectory(2 * size);
  for (size_t i = 0; i < size; ++i) made[2 * i] = made[2 * i + 1] = old[i];
  SetDirectory(made, directory_depth_ + 1);
  retired_.push_back({old, 0, epochs_.Retire()});
}

void ShardIndex::FreeRetired() {
  size_t passed = 0;
  while (passed < retired_.size() && epochs_.Passed(retired_[passed].stamp)) ++passed;
  for (size_t i = 0; i < passed; ++i) {
    if (retired_[i].lines > 0) {
      memory_.Free(static_cast<IndexLine*>(retired_[i].memory), retired_[i].lines);
    } else {
      DeleteDirectory(retired_[i].memory);
    }
  }
  retired_.erase(retired_.begin(), retired_.begin() + static_cast<ptrdiff_t>(passed));
}

}  // namespace catamaran
