// table/memory/shard_index.h
//
// Which keys of a shard have a row, and where: extendible hashing. A directory, indexed by the
// first bits of the hash after the shard's own, points to segments; a segment is some hundred index
// lines (index_line.h), and the home line of a key goes by the next bits of its hash, so that
// directory and lines are in the order of hashes. A key that finds its home full lies in one of the
// lines after it, in the same segment. An entry is removed without a trace.
//
// A segment that is full is made anew: with twice the lines while it is small, else as two
// segments, each for half of its hashes. That is the longest that an insert ever takes: some
// 7,000 rows are looked at, whatever the size of the table. Segments of different parts of the
// hash's range have different sizes, in sixteen steps from 255 to 480 lines, so that they do not
// all double at the same time. A segment counts as full when 80 of a hundred entries are taken, or
// 96: the index takes about 7.9 bytes a row at every moment, or 6.6, and of keys at random 24 in a
// thousand are not found at first sight (row_finder.h), or 46.
//
// All handles of a segment have as many bits as its lines say; those of a shard that grows want
// more and more. A segment that is made anew is ready for twice as many rows as the shard has, so
// that each has had its turn before its handles do not fit, or nearly each.
//
// Thread safety: one thread writes; readers need a guard of the table's Epochs.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/memory/epochs.h"
#include "catamaran/table/memory/index_line.h"
#include "catamaran/table/memory/index_memory.h"
#include "catamaran/table/memory/shard_rows.h"

namespace catamaran {

// What the directory says of a segment, in one word: its lines, how many, and how many bits of the
// hash, the shard's among them, all its keys share.
class SegmentRef {
 public:
  SegmentRef() = default;
  explicit SegmentRef(uint64_t bits) : bits_(bits) {}
  SegmentRef(IndexLine* lines, int num_lines, int depth)
      : bits_(reinterpret_cast<uint64_t>(lines) | static_cast<uint64_t>(num_lines) << 48 |
              static_cast<uint64_t>(depth)) {}

  IndexLine* lines() const {
    return reinterpret_cast<IndexLine*>(bits_ & ((uint64_t{1} << 48) - 64));
  }
  uint32_t num_lines() const { return static_cast<uint32_t>(bits_ >> 48); }
  // The line after one of them; the first comes after the last.
  const IndexLine* After(const IndexLine* line) const {
    return line + 1 == lines() + num_lines() ? lines() : line + 1;
  }
  int depth() const { return static_cast<int>(bits_ & 63); }
  uint64_t bits() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};

class ShardIndex {
 public:
  static constexpr int kMaxSegmentLines = 65535;

  static constexpr int kQuickFill = 80, kDenseFill = 96;  // per cent

  // `rows` and `epochs` outlive it. `fill`: how full segments become, in per cent.
  ShardIndex(int shard_bits, uint64_t shard, const ShardRows& rows, Epochs& epochs,
             size_t reserve_bytes, PageMode mode, int fill);
  ~ShardIndex();
  ShardIndex(const ShardIndex&) = delete;
  ShardIndex& operator=(const ShardIndex&) = delete;

  // --- Readers and the writer.

  // Where to find the entry of a hash in the directory: an address, and how far the hash is shifted
  // to be the number of an entry from there on. It changes with the directory, and the one before
  // is good as long as the guard is held, though it may not find all keys then.
  const std::atomic<uint64_t>& root() const { return root_; }

  static SegmentRef Segment(uint64_t root, uint64_t hash) {
    const uint64_t entry = (root & ~uint64_t{63}) + sizeof(uint64_t) * (hash >> (root & 63));
    return SegmentRef(__atomic_load_n(reinterpret_cast<const uint64_t*>(entry), __ATOMIC_ACQUIRE));
  }
  static uint32_t Home(uint64_t hash, SegmentRef segment) {
    const uint64_t fraction = (hash << segment.depth()) >> 32;
    return static_cast<uint32_t>(fraction * segment.num_lines() >> 32);
  }
  static const IndexLine* HomeLine(uint64_t root, uint64_t hash) {
    const SegmentRef segment = Segment(root, hash);
    return segment.lines() + Home(hash, segment);
  }
  SegmentRef Segment(uint64_t hash) const {
    return Segment(root_.load(std::memory_order_acquire), hash);
  }
  const IndexLine* HomeLine(uint64_t hash) const {
    return HomeLine(root_.load(std::memory_order_acquire), hash);
  }
  void PrefetchLine(uint64_t hash) const { PrefetchLineOf(HomeLine(hash)); }

  // Asks for the lines that entries of this home lie in besides, but for the farthest.
  void PrefetchOverflow(uint64_t hash) const {
    const SegmentRef segment = Segment(hash);
    const IndexLine* line = segment.lines() + Home(hash, segment);
    constexpr uint32_t kMost = 2;
    for (uint32_t reach = std::min(IndexLine::Reach(line->State()), kMost); reach > 0; --reach) {
      line = segment.After(line);
      PrefetchLineOf(line);
    }
  }

  // Calls `found(handle)` for every entry that might be of `hash`, until it says true. False if it
  // never did, and there was at some moment during the call no entry for which it would have.
  template <class Found>
  bool Search(uint64_t hash, Found&& found) const;

  // --- For the writer.

  // Like Search, when nobody writes meanwhile, or when it does not matter that an entry is missed.
  // kNoRow if `found` never says true.
  template <class Found>
  RowHandle Find(uint64_t hash, Found&& found) const;

  // Makes sure that the next Insert of this hash finds room, and its handle too. An Error, with
  // nothing lost, if there is no memory for it.
  void MakeRoom(uint64_t hash, RowHandle handle) {
    MakeHandleFit(hash, handle);
    while (HeaderOf(Segment(hash)).count >= Limit(Segment(hash).num_lines())) Grow(hash);
  }
  bool HasRoom(uint64_t hash, RowHandle handle) const {
    const SegmentRef segment = Segment(hash);
    const Header& header = HeaderOf(segment);
    return header.count < Limit(segment.num_lines()) && handle.bits() >> header.handle_bits == 0;
  }
  // Whether there is an entry left at all: beyond how full a segment becomes where there is memory.
  bool Fits(uint64_t hash, RowHandle handle) const {
    const SegmentRef segment = Segment(hash);
    const Header& header = HeaderOf(segment);
    return header.count < Capacity(segment) && handle.bits() >> header.handle_bits == 0;
  }
  // REQUIRES: Fits for both.
  void Insert(uint64_t hash, RowHandle handle);

  // A key that a step may insert.
  struct Wanted {
    uint64_t hash;
    uint64_t key;
  };
  // From now on all of `keys` fit whose key is not there (`is_there`, asked where it matters), and
  // so do handles of up to `handle_bits` bits, whether or not there is memory to grow. An Error,
  // with nothing lost, if there is none for that. Costs nearly nothing where segments have room.
  void Reserve(std::span<const Wanted> keys, int handle_bits,
               FunctionRef<bool(const Wanted&)> is_there);
  // Whether Reserve has nothing to do, asked in two ways that cost less. For any `keys` keys,
  // without a look at segments:
  bool HasRoomFor(int64_t keys, int handle_bits) const {
    return handle_bits <= fitting_bits_ && keys <= least_slack_;
  }
  // For the keys that Want was told of since BeginWanted, be they there or not:
  void BeginWanted() { wanted_.assign(DirectorySize(), 0); }
  void Want(uint64_t hash) { ++wanted_[PlaceInDirectory(hash)]; }
  bool WantedFit(int handle_bits) const {
    return handle_bits <= fitting_bits_ && FullPlaces().empty();
  }
  // REQUIRES: there is an entry of this hash and handle.
  void Remove(uint64_t hash, RowHandle handle);

  // Makes sure that Replace can write the handle. An Error, with nothing lost, if there is no
  // memory for it.
  void MakeHandleFit(uint64_t hash, RowHandle handle);
  bool HandleFits(uint64_t hash, RowHandle handle) const {
    return handle.bits() >> HeaderOf(Segment(hash)).handle_bits == 0;
  }
  // REQUIRES: there is an entry of this hash and `from`; `to` is less than `from`, or
  // MakeHandleFit.
  void Replace(uint64_t hash, RowHandle from, RowHandle to);

  // Calls `visit` for every entry of each segment that holds hashes of [first, last]: for more
  // than those of that range. In no order; it may not change the index.
  void Walk(uint64_t first, uint64_t last, FunctionRef<void(RowHandle)> visit) const;

  // Frees what no reader looks at any more, and sees to huge pages.
  void Reclaim() {
    memory_.MakeOneHuge();
    if (!retired_.empty()) FreeRetired();
  }

  // --- Figures, at any time.

  int64_t bytes() const {
    return memory_.bytes() + directory_bytes_.load(std::memory_order_relaxed);
  }
  const PageRange& range() const { return memory_.range(); }

 private:
  // In the line before a segment's first.
  struct Header {
    int64_t count;  // entries
    int handle_bits;
  };
  using FirstAndLast = std::pair<uint64_t, uint64_t>;
  struct Entry {
    IndexLine* line = nullptr;
    int number = 0;
    uint32_t distance = 0;  // from home
  };
  struct Retired {
    void* memory;
    int lines;  // of a segment with its header; 0: a directory
    Epochs::Stamp stamp;
  };

  static Header& HeaderOf(SegmentRef segment) {
    return *reinterpret_cast<Header*>(segment.lines() - 1);
  }
  // How many entries so many lines may have.
  int64_t Limit(uint32_t lines) const { return int64_t{lines} * IndexLine::kEntries * fill_ / 100; }
  // Of a segment that will rather split than grow, with its header.
  static int FullBlockLines(uint64_t hash);
  // The hashes of the segment that `hash` belongs to.
  FirstAndLast Range(uint64_t hash, SegmentRef segment) const;
  size_t DirectorySize() const { return size_t{1} << (directory_depth_ - shard_bits_); }

  static int64_t Capacity(SegmentRef segment) {
    return int64_t{segment.num_lines()} * IndexLine::kEntries;
  }
  size_t PlaceInDirectory(uint64_t hash) const {
    return static_cast<size_t>(hash >> (64 - directory_depth_)) & (DirectorySize() - 1);
  }
  // Calls visit(first place in the directory, segment) for each segment.
  template <class Visit>
  void ForEachSegment(Visit&& visit) const;
  // A hash of the segment at that place.
  uint64_t HashAt(size_t place) const {
    const uint64_t before = shard_bits_ == 0 ? 0 : shard_ << (64 - shard_bits_);
    return before | static_cast<uint64_t>(place) << (64 - directory_depth_);
  }
  void ReserveHandleBits(int bits);
  // Segments that have no room for all that is wanted of them, by their first place.
  std::vector<size_t> FullPlaces() const;
  int64_t WantedOf(size_t place, SegmentRef segment) const;
  // Grows segments that have no room. False: none had to grow.
  bool GrowFor(std::span<const Wanted> keys, FunctionRef<bool(const Wanted&)> is_there);

  // How many bits the handles of a segment get that is made now.
  int HandleBits() const;
  SegmentRef NewSegment(int block_lines, int depth);
  // Makes the directory say `segment` for all hashes that it shares its bits with.
  void Publish(uint64_t hash, SegmentRef segment);
  void RetireSegment(SegmentRef segment);
  void MakeRoomToRetire();
  Entry Locate(uint64_t hash, RowHandle handle) const;
  void Place(SegmentRef segment, uint64_t hash, RowHandle handle) const;
  template <class Visit>
  void ForEachEntry(SegmentRef segment, uint32_t line, uint32_t num_lines, Visit&& visit) const;
  void Grow(uint64_t hash);
  void Rebuild(uint64_t hash, int block_lines);
  void Split(uint64_t hash);
  bool MayDoubleDirectory() const;
  void SetDirectory(uint64_t* entries, int depth);
  void DoubleDirectory();
  void FreeRetired();

  std::atomic<uint64_t> root_ = 0;
  const int shard_bits_;
  const uint64_t shard_;
  const int fill_;
  uint64_t* directory_ = nullptr;
  int directory_depth_ = 0;  // bits of the hash that say which entry, the shard's among them
  const ShardRows& rows_;
  Epochs& epochs_;
  IndexMemory memory_;
  int64_t segments_ = 0;
  std::vector<Retired> retired_;
  int reserved_bits_ = 0;  // handles of the next segments have at least so many
  int fitting_bits_ = 0;   // handles of so many bits fit into every segment
  // The fewest entries that a segment has beyond its limit; 0: to be found out, or none.
  int64_t least_slack_ = 0;
  std::vector<uint32_t> wanted_;  // keys, by place in the directory
  std::atomic<int64_t> directory_bytes_ = 0;
};

template <class Found>
bool ShardIndex::Search(uint64_t hash, Found&& found) const {
  for (;;) {
    const SegmentRef segment = Segment(hash);
    IndexLine* const lines = segment.lines();
    const uint32_t home = Home(hash, segment);
    const uint32_t state = lines[home].State();
    const uint32_t reach = IndexLine::Reach(state) == IndexLine::kMaxReach
                               ? segment.num_lines() - 1
                               : IndexLine::Reach(state);
    // The sum of the versions: each only rises.
    uint32_t versions = 0;
    const auto at = [&](uint32_t distance) -> const IndexLine& {
      const uint32_t line = home + distance;
      return lines[line < segment.num_lines() ? line : line - segment.num_lines()];
    };
    for (uint32_t distance = 0; distance <= reach; ++distance) {
      const IndexLine& line = at(distance);
      versions += IndexLine::Version(distance == 0 ? state : line.State());
      for (EntryMask match = line.Match(hash).entries; match != 0; match &= match - 1) {
        if (found(line.Handle(__builtin_ctz(match)))) return true;
      }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    for (uint32_t distance = 0; distance <= reach; ++distance) {
      versions -= IndexLine::Version(at(distance).State());
    }
    if (versions == 0 && Segment(hash).bits() == segment.bits()) return false;
  }
}

template <class Found>
RowHandle ShardIndex::Find(uint64_t hash, Found&& found) const {
  const SegmentRef segment = Segment(hash);
  uint32_t line = Home(hash, segment);
  uint32_t reach = IndexLine::Reach(segment.lines()[line].State());
  if (reach == IndexLine::kMaxReach) reach = segment.num_lines() - 1;
  for (;; --reach) {
    const IndexLine& at = segment.lines()[line];
    for (EntryMask match = at.Match(hash).entries; match != 0; match &= match - 1) {
      const RowHandle handle = at.Handle(__builtin_ctz(match));
      if (found(handle)) return handle;
    }
    if (reach == 0) return kNoRow;
    if (++line == segment.num_lines()) line = 0;
  }
}

}  // namespace catamaran
