// Reading many rows at memory speed: a key's index line, then its row, are asked for some keys
// before they are needed, so that many cache misses are under way at once.

#include <sched.h>

#include <algorithm>
#include <array>

#include "catamaran/table/memory/memory_store.h"

namespace catamaran {
namespace {

enum class Outcome : uint8_t { kRow, kWaiting, kOther, kAgain };

// Copies the embedding of a row, if it is the row of `key`.
template <bool kPlainFloats>
Outcome ReadEmbedding(const RowLayout& layout, const RowCodec& codec, RowHandle handle,
                      const uint32_t* row, uint64_t key, float* out, size_t width) {
  const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
  if (!TagIsReadable(tag)) return Outcome::kAgain;
  const bool ours = LoadRowKey(row) == key;
  const RowClass c = handle.row_class();
  if (!ours || c == RowClass::kWaiting) {
    if (!RowIsUnchanged(row, tag)) return Outcome::kAgain;
    return ours ? Outcome::kWaiting : Outcome::kOther;
  }
  const RowLayout::Class& words = layout.of(c);
  if constexpr (kPlainFloats) {
    LoadWords(row + words.embedding, reinterpret_cast<uint32_t*>(out), words.columns);
    if (!RowIsUnchanged(row, tag)) return Outcome::kAgain;
  } else {
    std::array<uint32_t, kMaxTableWidth> copy;
    LoadWords(row + words.embedding, copy.data(), words.embedding_words);
    if (!RowIsUnchanged(row, tag)) return Outcome::kAgain;
    codec.Decode(copy.data(), words.columns, out);
  }
  std::fill(out + words.columns, out + width, 0.0f);
  return Outcome::kRow;
}

// The whole way, for what the pipeline below does not find at first sight.
template <bool kPlainFloats>
Outcome Look(const Shard& shard, const RowLayout& layout, const RowCodec& codec, uint64_t hash,
             uint64_t key, float* out, size_t width) {
  for (int tries = 0;; ++tries) {
    Outcome outcome = Outcome::kOther;
    shard.index().Search(hash, [&](RowHandle handle) {
      outcome =
          ReadEmbedding<kPlainFloats>(layout, codec, handle, shard.row(handle), key, out, width);
      return outcome != Outcome::kOther;
    });
    if (outcome != Outcome::kAgain) return outcome;
    if (tries % 64 == 63) sched_yield();  // whoever writes it waits for a processor
  }
}

}  // namespace

template <bool kPlainFloats>
void MemoryStore::PullSome(std::span<const uint64_t> keys, float* out, size_t first,
                           Missing missing) const {
  // Keys go through the stages in blocks. One stage for all of a block, in a short loop, and not
  // all stages for one key: then the processor sees many misses ahead, of the address translation
  // too, which costs more than the memory. Larger blocks ask for more than it can remember.
  constexpr size_t kBlock = 16;
  struct Block {
    size_t first = 0, size = 0;
    std::array<uint64_t, kBlock> hash;
    std::array<const Shard*, kBlock> shard;
    std::array<SegmentRef, kBlock> segment;
    std::array<const IndexLine*, kBlock> line;
    std::array<const uint32_t*, kBlock> row;  // what the index says: probably, not surely, the one
    std::array<RowHandle, kBlock> handle;     // kNoRow: none seen
  };
  std::array<Block, 3> blocks;

  const auto width = static_cast<size_t>(config_.width);
  const RowLayout::Class& full = layout_.of(RowClass::kFull);
  const int row_end = full.embedding + full.embedding_words;
  const Epochs::Guard guard(epochs_);

  const auto ask_for_lines = [&](Block& b) {
    for (size_t i = 0; i < b.size; ++i) {
      const uint64_t hash = config_.Hash(keys[b.first + i]);
      b.hash[i] = hash;
      b.shard[i] = &shard_for(hash);
      const ShardIndex& index = b.shard[i]->index();
      b.segment[i] = index.Segment(hash);
      b.line[i] = b.segment[i].lines() + index.Home(hash, b.segment[i]);
    }
    for (size_t i = 0; i < b.size; ++i) PrefetchLineOf(b.line[i]);
  };

  const auto choose_row = [&](Block& b, size_t i, EntryMask match) {
    b.handle[i] = b.line[i]->Handle(__builtin_ctz(match));
    b.row[i] = b.shard[i]->row(b.handle[i]);
  };

  const auto ask_for_rows = [&](Block& b) {
    std::array<uint8_t, kBlock> not_at_home;
    size_t away = 0;
    for (size_t i = 0; i < b.size; ++i) {
      const EntryMask match = b.line[i]->Match(IndexLine::TagOf(b.hash[i]));
      if (match != 0) {
        choose_row(b, i, match);
        continue;
      }
      b.handle[i] = kNoRow;
      b.row[i] = b.line[i]->handles;  // something that is there to be asked for
      if (IndexLine::Reach(b.line[i]->State()) > 0) {
        b.line[i] = b.segment[i].After(b.line[i]);
        PrefetchLineOf(b.line[i]);
        not_at_home[away++] = static_cast<uint8_t>(i);
      }
    }
    for (size_t i = 0; i < b.size; ++i) PrefetchLineOf(b.row[i] + row_words::kTag);
    for (size_t k = 0; k < away; ++k) {
      const size_t i = not_at_home[k];
      const EntryMask match = b.line[i]->Match(IndexLine::TagOf(b.hash[i]));
      if (match != 0) choose_row(b, i, match);
    }
    for (size_t i = 0; i < b.size; ++i) {
      ShardRows::PrefetchRest(b.row[i] + row_words::kTag, b.row[i] + row_end);
    }
  };

  const auto copy_rows = [&](Block& b) {
    for (size_t i = 0; i < b.size; ++i) {
      const size_t number = b.first + i;
      float* const to = out + number * width;
      if (b.handle[i] && ReadEmbedding<kPlainFloats>(layout_, codec_, b.handle[i], b.row[i],
                                                     keys[number], to, width) == Outcome::kRow) {
        continue;
      }
      const Outcome outcome =
          Look<kPlainFloats>(*b.shard[i], layout_, codec_, b.hash[i], keys[number], to, width);
      if (outcome != Outcome::kRow) {
        missing(first + number, b.hash[i], outcome == Outcome::kWaiting);
      }
    }
  };

  const size_t n = keys.size();
  const size_t num_blocks = (n + kBlock - 1) / kBlock;
  for (size_t k = 0; k < num_blocks + 2; ++k) {
    Block& begun = blocks[k % 3];
    if (k < num_blocks) {
      begun.first = k * kBlock;
      begun.size = std::min(kBlock, n - begun.first);
      ask_for_lines(begun);
    }
    if (k >= 1 && k <= num_blocks) ask_for_rows(blocks[(k - 1) % 3]);
    if (k >= 2) copy_rows(blocks[(k - 2) % 3]);
  }
}

void MemoryStore::Pull(std::span<const uint64_t> keys, std::span<float> out,
                       Missing missing) const {
  // In parts, so that memory which is given back waits for one of them only.
  constexpr size_t kPart = 8192;
  for (size_t first = 0; first < keys.size(); first += kPart) {
    const auto part = keys.subspan(first, std::min(kPart, keys.size() - first));
    float* const to = out.data() + first * static_cast<size_t>(config_.width);
    if (config_.store == RowStore::kF32) {
      PullSome<true>(part, to, first, missing);
    } else {
      PullSome<false>(part, to, first, missing);
    }
  }
}

bool MemoryStore::PullOne(uint64_t hash, uint64_t key, float* out, bool* waiting) const {
  const Epochs::Guard guard(epochs_);
  const auto look = config_.store == RowStore::kF32 ? &Look<true> : &Look<false>;
  const Outcome outcome =
      look(shard_for(hash), layout_, codec_, hash, key, out, static_cast<size_t>(config_.width));
  *waiting = outcome == Outcome::kWaiting;
  return outcome == Outcome::kRow;
}

}  // namespace catamaran
