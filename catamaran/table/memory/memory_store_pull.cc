// Reading many rows at memory speed: most of it is in pull_rows_simd.h.

#include <sched.h>

#include <algorithm>
#include <array>

#include "catamaran/table/memory/memory_store.h"

namespace catamaran {
namespace {

// Large Pulls go in parts, so that memory which is given back waits for one of them only, and so
// that what a part has read is still near when its late keys come. The longer a part, the more of
// its keys are repeats (pull_repeats_simd.h).
constexpr size_t kPart = kMostPullKeys;

enum class Outcome : uint8_t { kRow, kWaiting, kOther, kAgain };

// Its tag says that it cannot be read.
alignas(64) const uint32_t kNothing[row_words::kKey + 4 + kMaxTableWidth] = {};

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

// The whole way, for what is not found in stages.
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
  const auto width = static_cast<size_t>(config_.width);
  const RowLayout::Class& full = layout_.of(RowClass::kFull);
  const uint64_t seed = Mix64(config_.seed);
  const PullContext pull{.finder = Finder(kNothing),
                         .mixed_seed = seed,
                         .embedding = full.embedding,
                         .embedding_words = full.embedding_words,
                         .width = full.columns,
                         .decode = codec_.decoder()};
  const Epochs::Guard guard(epochs_);
  std::array<uint16_t, kPart> lost;
  const size_t num_lost = pull_rows_(pull, keys.data(), keys.size(), out, lost.data());
  std::sort(lost.begin(), lost.begin() + static_cast<ptrdiff_t>(num_lost));

  // Index lines are near now; rows of other classes may not be.
  const auto hash_of = [&](size_t i) { return Mix64(keys[lost[i]] ^ seed); };
  for (size_t i = 0; i < num_lost; ++i) shard_for(hash_of(i)).PrefetchCandidates(hash_of(i));
  for (size_t i = 0; i < num_lost; ++i) {
    const size_t k = lost[i];
    const uint64_t hash = hash_of(i);
    const Outcome outcome =
        Look<kPlainFloats>(shard_for(hash), layout_, codec_, hash, keys[k], out + k * width, width);
    if (outcome != Outcome::kRow) missing(first + k, hash, outcome == Outcome::kWaiting);
  }
}

void MemoryStore::Pull(std::span<const uint64_t> keys, std::span<float> out,
                       Missing missing) const {
  for (size_t first = 0; first < keys.size(); first += kPart) {
    const auto part = keys.subspan(first, std::min(kPart, keys.size() - first));
    float* const to = out.data() + first * static_cast<size_t>(config_.width);
    if (config_.store != RowStore::kF32) {
      PullSome<false>(part, to, first, missing);
    } else {
      PullSome<true>(part, to, first, missing);
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
