#include "catamaran/table/memory/row_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/table/memory/index_memory.h"

namespace catamaran {
namespace {

constexpr int kWords = 23;

// Bytes of a range that the system holds memory for.
size_t ResidentBytes(const PageRange& range) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (range.usable() == 0) return 0;
  std::vector<unsigned char> in_memory(range.usable() / page);
  EXPECT_EQ(mincore(range.base(), range.usable(), in_memory.data()), 0);
  size_t pages = 0;
  for (const unsigned char one : in_memory) pages += one & 1;
  return pages * page;
}

void Fill(RowArena& arena, int64_t rows) {
  while (arena.count() < rows) {
    arena.MakeRoom();
    const uint32_t slot = arena.Append();
    std::memset(arena.row(slot), 1, kWords * sizeof(uint32_t));
  }
}
void Drain(RowArena& arena, int64_t rows) {
  while (arena.count() > rows) arena.RemoveLast();
}

TEST(RowArena, TakesLittleMoreMemoryThanItsRowsAtEverySize) {
  for (const PageMode mode : {PageMode::kSmall, PageMode::kTransparent, PageMode::kExplicit}) {
    Epochs epochs;
    RowArena arena(kWords, size_t{1} << 30, mode, epochs);
    for (const int64_t rows : {1, 1'000, 30'000, 100'000}) {
      Fill(arena, rows);
      const int64_t bytes = rows * kWords * 4;
      EXPECT_GE(arena.bytes(), bytes);
      if (mode == PageMode::kExplicit) continue;  // whole huge pages, if the system has any
      EXPECT_LE(arena.bytes(), bytes + 4096);
      EXPECT_LE(ResidentBytes(arena.range()), static_cast<size_t>(bytes) + 4096);
    }
  }
}

TEST(RowArena, GivesMemoryBackWhenRowsGo) {
  Epochs epochs;
  RowArena arena(kWords, size_t{1} << 30, PageMode::kTransparent, epochs);
  Fill(arena, 200'000);
  const size_t full = ResidentBytes(arena.range());
  EXPECT_GE(full, size_t{200'000} * kWords * 4);
  Drain(arena, 20'000);
  arena.Reclaim();
  EXPECT_LT(ResidentBytes(arena.range()), full / 5);
  EXPECT_LT(arena.bytes(), static_cast<int64_t>(full / 5));
  EXPECT_EQ(arena.row(19'999)[0], 0x01010101u) << "a row that stayed";
  Fill(arena, 100'000);
  EXPECT_EQ(arena.row(99'999)[kWords - 1], 0x01010101u);
  Drain(arena, 0);
  arena.Reclaim();
  EXPECT_EQ(ResidentBytes(arena.range()), 0u);
  EXPECT_EQ(arena.bytes(), 0);
}

TEST(RowArena, KeepsMemoryWhileAReaderMightLook) {
  Epochs epochs;
  RowArena arena(kWords, size_t{1} << 30, PageMode::kTransparent, epochs);
  Fill(arena, 100'000);
  std::optional<Epochs::Guard> reader(std::in_place, epochs);
  Drain(arena, 0);
  arena.Reclaim();
  EXPECT_EQ(arena.row(99'999)[0], 0x01010101u);
  reader.reset();
  arena.Reclaim();
  EXPECT_EQ(arena.row(99'999)[0], 0u);
}

TEST(RowArena, RowsThatComeBackBeforeMemoryWentKeepIt) {
  Epochs epochs;
  RowArena arena(kWords, size_t{1} << 30, PageMode::kTransparent, epochs);
  Fill(arena, 100'000);
  std::optional<Epochs::Guard> reader(std::in_place, epochs);
  Drain(arena, 0);
  arena.Reclaim();  // wants to, and may not yet
  Fill(arena, 100'000);
  reader.reset();
  arena.Reclaim();
  for (const uint32_t slot : {0u, 50'000u, 99'999u}) EXPECT_EQ(arena.row(slot)[5], 0x01010101u);
}

TEST(RowArena, SaysWhenItsAddressesAreUsedUp) {
  Epochs epochs;
  RowArena arena(kWords, PageRange::kSlabBytes, PageMode::kSmall, epochs);
  const int64_t most = static_cast<int64_t>(PageRange::kSlabBytes) / (kWords * 4);
  Fill(arena, most);
  EXPECT_THROW(arena.MakeRoom(), Error);
  EXPECT_EQ(arena.count(), most);
}

TEST(PageRange, TheSystemSaysWhatPagesThereAre) {
  PageRange range(size_t{1} << 30, PageMode::kSmall);
  range.Grow(8 * PageRange::kSlabBytes);
  std::memset(range.base(), 1, range.usable());
  const PageRange* const ranges[] = {&range};
  const PageUse use = MeasurePages(ranges);
  EXPECT_EQ(use.small, range.usable());
  EXPECT_EQ(use.transparent, 0u);
  EXPECT_EQ(use.explicit_huge, 0u);
}

TEST(IndexMemory, BlocksAreZerosDoNotOverlapAndGoBack) {
  IndexMemory memory(size_t{1} << 30, PageMode::kTransparent);
  constexpr int kSizes[] = {4, 9, 256, 455, 8191};
  struct Block {
    IndexLine* lines;
    int size;
    uint32_t mark;
  };
  std::vector<Block> blocks;
  uint32_t state = 1;
  const auto random = [&] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (uint32_t i = 1; i <= 4000; ++i) {
    const int size = kSizes[random() % 5];
    if (size > 4096 && random() % 20 != 0) continue;
    IndexLine* const lines = memory.Allocate(size);
    for (int k = 0; k < size; ++k) {
      ASSERT_EQ(lines[k].state, 0u);
      ASSERT_EQ(lines[k].entries[0], 0u);
      lines[k].state = i;
      lines[k].entries[0] = i;
    }
    blocks.push_back({lines, size, i});
    while (random() % 5 < 2 && !blocks.empty()) {
      const size_t victim = random() % blocks.size();
      std::swap(blocks[victim], blocks.back());
      for (int k = 0; k < blocks.back().size; ++k) {
        ASSERT_EQ(blocks.back().lines[k].state, blocks.back().mark);
      }
      memory.Free(blocks.back().lines, blocks.back().size);
      blocks.pop_back();
    }
  }
  EXPECT_GT(memory.bytes(), int64_t{1} << 22);
  for (const Block& block : blocks) memory.Free(block.lines, block.size);
  EXPECT_LE(memory.bytes(), int64_t{1} << 20);
}

}  // namespace
}  // namespace catamaran
