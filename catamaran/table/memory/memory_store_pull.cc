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
  struct Flight {
    uint64_t hash;
    const Shard* shard;
    const IndexLine* line;
    const uint32_t* row;
    RowHandle handle;
  };
  constexpr size_t kLineAhead = 24;  // keys between asking for a line and looking at it
  constexpr size_t kRowAhead = 24;   // and between asking for a row and copying it
  constexpr size_t kFlights = 64;
  static_assert(kLineAhead + kRowAhead <= kFlights);
  std::array<Flight, kFlights> flights;

  const auto width = static_cast<size_t>(config_.width);
  const int row_end =
      layout_.of(RowClass::kFull).embedding + layout_.of(RowClass::kFull).embedding_words;
  const Epochs::Guard guard(epochs_);
  const size_t n = keys.size();
  for (size_t i = 0; i < n + kLineAhead + kRowAhead; ++i) {
    if (i < n) {
      Flight& flight = flights[i % kFlights];
      flight.hash = config_.Hash(keys[i]);
      flight.shard = &shard_for(flight.hash);
      flight.line = flight.shard->index().HomeLine(flight.hash);
      __builtin_prefetch(flight.line);
    }
    if (const size_t j = i - kLineAhead; j < n) {
      Flight& flight = flights[j % kFlights];
      const EntryMask match = flight.line->Match(IndexLine::TagOf(flight.hash));
      flight.row = nullptr;
      if (match != 0) {
        flight.handle = flight.line->Handle(__builtin_ctz(match));
        flight.row = flight.shard->row(flight.handle);
        ShardRows::PrefetchLines(flight.row + row_words::kTag, flight.row + row_end);
      }
    }
    if (const size_t k = i - kLineAhead - kRowAhead; k < n) {
      const Flight& flight = flights[k % kFlights];
      float* const to = out + k * width;
      Outcome outcome = Outcome::kOther;
      if (flight.row != nullptr) {
        outcome = ReadEmbedding<kPlainFloats>(layout_, codec_, flight.handle, flight.row, keys[k],
                                              to, width);
        if (outcome == Outcome::kRow) continue;
      }
      outcome = Look<kPlainFloats>(*flight.shard, layout_, codec_, flight.hash, keys[k], to, width);
      if (outcome != Outcome::kRow) missing(first + k, flight.hash, outcome == Outcome::kWaiting);
    }
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
