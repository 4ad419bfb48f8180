// Reading many rows at memory speed: a key's index line, then its row, are asked for some keys
// before they are needed, so that many cache misses are under way at once.

#include <sched.h>

#include <algorithm>
#include <array>

#include "catamaran/table/memory/memory_store.h"

namespace catamaran {
namespace {

// Large Pulls go in parts, so that memory which is given back waits for one of them only.
constexpr size_t kPart = 8192;

enum class Outcome : uint8_t { kRow, kWaiting, kOther, kAgain };

// Copies the embedding of a row whose tag word was `tag`; false if it has changed since.
template <bool kPlainFloats>
inline bool CopyEmbedding(const RowCodec& codec, const RowLayout::Class& words, const uint32_t* row,
                          uint32_t tag, float* out) {
  if constexpr (kPlainFloats) {
    LoadWords(row + words.embedding, reinterpret_cast<uint32_t*>(out), words.columns);
    return RowIsUnchanged(row, tag);
  } else {
    std::array<uint32_t, kMaxTableWidth> copy;
    LoadWords(row + words.embedding, copy.data(), words.embedding_words);
    if (!RowIsUnchanged(row, tag)) return false;
    codec.Decode(copy.data(), words.columns, out);
    return true;
  }
}

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
  if (!CopyEmbedding<kPlainFloats>(codec, words, row, tag, out)) return Outcome::kAgain;
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

// Asks for all lines that hold words [first, last] of a row, but the end of long ones. How many
// requests that makes does not depend on where in a line the row begins, so the processor never
// guesses it wrong; a line that is asked for twice costs nothing.
inline void AskForWords(const uint32_t* row, int first, int last) {
  constexpr int kLine = 16;
  constexpr int kMost = 8 * kLine;  // from there on the processor sees the pattern itself
  last = std::min(last, first + kMost);
  for (int word = first; word < last; word += kLine) PrefetchLineOf(row + word);
  PrefetchLineOf(row + last);
}

}  // namespace

template <bool kPlainFloats>
void MemoryStore::PullSome(std::span<const uint64_t> keys, float* out, size_t first,
                           Missing missing) const {
  const auto width = static_cast<size_t>(config_.width);
  const RowLayout::Class full = layout_.of(RowClass::kFull);
  const int last_word = full.embedding + full.embedding_words - 1;
  const uint64_t seed = Mix64(config_.seed);
  const auto hash_of = [&](size_t i) { return Mix64(keys[i] ^ seed); };
  const Epochs::Guard guard(epochs_);
  const size_t n = keys.size();

  // A key on its way: its line has been asked for; then the row that the first entry with its tag
  // points to, if that is a row of the full width; then that is copied, if it is the key's.
  struct Flight {
    uint64_t hash;
    const Shard* shard;
    const IndexLine* line;
    const uint32_t* row;  // null: none at first sight
  };
  constexpr size_t kAhead = 16;  // keys between one stage and the next
  std::array<Flight, 4 * kAhead> flights;
  // One key in thirty is not found at first sight: it lies in another line than its home, or
  // another key of that line has its tag. They come last, so that nobody waits for their misses.
  std::array<uint16_t, kPart> late;
  size_t num_late = 0;
  for (size_t i = 0; i < n + 2 * kAhead; ++i) {
    if (i < n) {
      Flight& flight = flights[i % flights.size()];
      flight.hash = hash_of(i);
      flight.shard = &shard_for(flight.hash);
      flight.line = flight.shard->index().HomeLine(flight.hash);
      PrefetchLineOf(flight.line);
    }
    if (const size_t j = i - kAhead; j < n) {
      Flight& flight = flights[j % flights.size()];
      flight.row = nullptr;
      if (const EntryMask match = flight.line->Match(IndexLine::TagOf(flight.hash)); match != 0) {
        const RowHandle handle = flight.line->Handle(__builtin_ctz(match));
        if (handle.row_class() == RowClass::kFull) {
          flight.row = flight.shard->row(handle);
          AskForWords(flight.row, row_words::kTag, last_word);
        }
      }
    }
    if (const size_t k = i - 2 * kAhead; k < n) {
      if (const uint32_t* row = flights[k % flights.size()].row; row != nullptr) {
        const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
        if (TagIsReadable(tag) && LoadRowKey(row) == keys[k] &&
            CopyEmbedding<kPlainFloats>(codec_, full, row, tag, out + k * width)) {
          continue;
        }
      }
      late[num_late++] = static_cast<uint16_t>(k);
    }
  }

  // The same for those, the whole way: the lines after the home, all rows with the tag, the look.
  constexpr size_t kLateAhead = 8;
  for (size_t i = 0; i < num_late + 2 * kLateAhead; ++i) {
    if (i < num_late) {
      const uint64_t hash = hash_of(late[i]);
      shard_for(hash).index().PrefetchOverflow(hash);
    }
    if (const size_t j = i - kLateAhead; j < num_late) {
      const uint64_t hash = hash_of(late[j]);
      const Shard& shard = shard_for(hash);
      shard.index().Search(hash, [&](RowHandle handle) {
        AskForWords(shard.row(handle), row_words::kTag,
                    handle.row_class() == RowClass::kFull ? last_word : row_words::kKey);
        return false;
      });
    }
    if (const size_t k = i - 2 * kLateAhead; k < num_late) {
      const uint64_t hash = hash_of(late[k]);
      const Outcome outcome = Look<kPlainFloats>(shard_for(hash), layout_, codec_, hash,
                                                 keys[late[k]], out + late[k] * width, width);
      if (outcome != Outcome::kRow) missing(first + late[k], hash, outcome == Outcome::kWaiting);
    }
  }
}

void MemoryStore::Pull(std::span<const uint64_t> keys, std::span<float> out,
                       Missing missing) const {
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
