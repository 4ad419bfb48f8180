#include "catamaran/table/memory/shard_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "catamaran/table/memory/pull_rows_simd.h"
#include "catamaran/table/memory/row_finder.h"
#include "catamaran/table/memory/storage_test_util.h"

namespace catamaran {
namespace {

TEST(IndexLine, EntriesAreFoundByTheirTagsWhateverBitsHandlesHave) {
  for (int bits = IndexLine::kMinHandleBits; bits <= RowHandle::kMaxBits; ++bits) {
    SCOPED_TRACE(bits);
    IndexLine line{};
    line.SetHandleBits(bits);
    EXPECT_EQ(line.Empty(), IndexLine::kAllEntries);
    const auto handle_of = [&](int i) {
      return RowHandle::FromBits(IndexLine::HandleMask(bits) - static_cast<uint32_t>(3 * i));
    };
    const auto hash_of = [](int i) {
      return uint64_t{0x1234567800000000} + static_cast<uint64_t>(i);
    };
    for (int i = 0; i < IndexLine::kEntries; ++i) line.Put(i, hash_of(i), handle_of(i));
    EXPECT_EQ(line.Empty(), 0u);
    for (int i = 0; i < IndexLine::kEntries; ++i) {
      EntryMask wanted = 0;
      for (int k = 0; k < IndexLine::kEntries; ++k) {
        const bool same = IndexLine::TagOf(hash_of(k), bits) == IndexLine::TagOf(hash_of(i), bits);
        wanted |= EntryMask{same} << k;
      }
      EXPECT_EQ(line.Match(hash_of(i)).entries, wanted);
      EXPECT_EQ(line.Handle(i), handle_of(i));
    }
    const uint32_t version = IndexLine::Version(line.State());
    line.AddOverflow(3);
    line.Clear(7);
    line.Replace(8, hash_of(8), handle_of(0));
    EXPECT_EQ(line.Empty(), EntryMask{1} << 7);
    EXPECT_EQ(line.Handle(8), handle_of(0));
    EXPECT_EQ(IndexLine::Version(line.State()), version + 2);
    EXPECT_EQ(IndexLine::Overflow(line.State()), 1u);
    EXPECT_EQ(IndexLine::Reach(line.State()), 3u);
    EXPECT_EQ(IndexLine::HandleBits(line.State()), bits);
    line.RemoveOverflow();
    EXPECT_EQ(IndexLine::Reach(line.State()), 0u);
  }
}

TEST(IndexLine, AVersionThatWrapsLeavesTheRestAlone) {
  IndexLine line{};
  line.SetHandleBits(RowHandle::kMaxBits);
  line.AddOverflow(200);
  line.Put(0, 1, RowHandle(RowClass::kFull, 5));
  uint32_t before = IndexLine::Version(line.State());
  for (int i = 0; i < 40'000; ++i) {
    line.Replace(0, 1, RowHandle(RowClass::kFull, 6));
    ASSERT_NE(IndexLine::Version(line.State()), before);
    before = IndexLine::Version(line.State());
  }
  EXPECT_EQ(IndexLine::HandleBits(line.State()), RowHandle::kMaxBits);
  EXPECT_EQ(IndexLine::Overflow(line.State()), 1u);
  EXPECT_EQ(IndexLine::Reach(line.State()), 200u);
}

// An index beside rows whose slots can be skipped: a shard of many rows that takes little memory.
struct SparseShard {
  SparseShard()
      : config(PlainConfig(16)),
        layout(config),
        rows(config, layout, size_t{4} << 30, PageMode::kSmall, epochs),
        index(0, 0, rows, epochs, size_t{1} << 30, PageMode::kSmall, ShardIndex::kDenseFill) {}

  void Skip(int64_t slots) {
    for (int64_t i = 0; i < slots; ++i) {
      arena().MakeRoom();
      arena().Append();
    }
  }
  RowHandle Insert(uint64_t key) {
    arena().MakeRoom();
    const RowHandle handle(RowClass::kFull, static_cast<uint32_t>(arena().count()));
    index.MakeRoom(config.Hash(key), handle);
    arena().Append();
    const auto record = StampedRecord(layout, RowClass::kFull, key, 1);
    StoreRow(rows.row(handle), record.data(), arena().words());
    index.Insert(config.Hash(key), handle);
    return handle;
  }
  RowHandle Find(uint64_t key) const {
    return index.Find(config.Hash(key),
                      [&](RowHandle handle) { return LoadRowKey(rows.row(handle)) == key; });
  }
  RowArena& arena() { return rows.of(RowClass::kFull); }

  TableConfig config;
  RowLayout layout;
  Epochs epochs;
  ShardRows rows;
  ShardIndex index;
};

TEST(ShardIndex, HandlesGetMoreBitsAsTheShardGrows) {
  SparseShard shard;
  std::vector<RowHandle> handles;
  const auto insert_more = [&] {
    for (int i = 0; i < 15'000; ++i) handles.push_back(shard.Insert(handles.size()));
  };
  const auto expect_all = [&] {
    for (size_t key = 0; key < handles.size(); ++key) ASSERT_EQ(shard.Find(key), handles[key]);
    EXPECT_FALSE(shard.Find(handles.size()));
  };
  insert_more();
  expect_all();

  // Handles of 24 bits end at eight million rows of the full width. First one that takes the place
  // of another, then those of new keys.
  shard.Skip(8'400'000);
  const RowHandle far(RowClass::kFull, static_cast<uint32_t>(shard.arena().count() - 1));
  const auto record = StampedRecord(shard.layout, RowClass::kFull, 3, 1);
  StoreRow(shard.rows.row(far), record.data(), shard.arena().words());
  const uint64_t hash = shard.config.Hash(3);
  ASSERT_FALSE(shard.index.HandleFits(hash, far));
  shard.index.MakeHandleFit(hash, far);
  shard.index.Replace(hash, handles[3], far);
  handles[3] = far;
  expect_all();
  for (int i = 0; i < 3; ++i) {
    insert_more();
    expect_all();
    shard.Skip(4'200'000);
  }
  ASSERT_GT(handles.back().bits(), 1u << 25);

  // Look-ups see short tags too.
  const ShardDoor door{&shard.index.root(), shard.arena().row(0)};
  alignas(64) static constexpr uint32_t kNothing[64] = {};
  const RowFinder finder(&door, 0, shard.arena().words(), kNothing);
  std::vector<uint64_t> keys(handles.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919 % keys.size();
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    SCOPED_TRACE(IsaName(isa));
    for (size_t first = 0; first < keys.size(); first += kMostPullKeys) {
      const size_t n = std::min(kMostPullKeys, keys.size() - first);
      std::vector<float> out(n * 16);
      std::vector<uint16_t> lost(n);
      lost.resize(PullRowsFor(isa)({.finder = finder,
                                    .mixed_seed = Mix64(shard.config.seed),
                                    .embedding = shard.layout.of(RowClass::kFull).embedding,
                                    .width = 16},
                                   keys.data() + first, n, out.data(), lost.data()));
      EXPECT_LT(lost.size(), n / 4);
      std::sort(lost.begin(), lost.end());
      for (size_t i = 0; i < n; ++i) {
        if (std::binary_search(lost.begin(), lost.end(), i)) continue;
        const uint64_t key = keys[first + i];
        for (size_t j = 0; j < 16; ++j) ASSERT_EQ(out[i * 16 + j], StampOf(key, 1)) << key;
      }
    }
  }

  for (size_t key = 0; key < handles.size(); ++key) {
    shard.index.Remove(shard.config.Hash(key), handles[key]);
    ASSERT_FALSE(shard.Find(key));
  }
}

}  // namespace
}  // namespace catamaran
