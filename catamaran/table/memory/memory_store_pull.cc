// Reading many rows at memory speed, in the stages of row_finder.h.

#include <sched.h>

#include <algorithm>
#include <array>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/stages.h"

namespace catamaran {
namespace {

// Large Pulls go in parts, so that memory which is given back waits for one of them only, and so
// that what a part has read is still near when its late keys come.
constexpr size_t kPart = 2048;

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

// Copies the embedding of a row of the full width; whether it was the row of `key`. If not, `out`
// holds anything.
template <bool kPlainFloats>
inline bool CopyIfItIs(const RowCodec& codec, const RowLayout::Class& words, const uint32_t* row,
                       uint64_t key, float* out) {
  const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
  return TagIsReadable(tag) && LoadRowKey(row) == key &&
         CopyEmbedding<kPlainFloats>(codec, words, row, tag, out);
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
  const RowFinder finder = Finder(kNothing);
  const Epochs::Guard guard(epochs_);
  const size_t n = keys.size();

  // Through the stages of row_finder.h: what is seen is copied, and if it was not the key's row the
  // key is late.
  const auto copy = [&](const uint32_t* row, size_t k) {
    return CopyIfItIs<kPlainFloats>(codec_, full, row, keys[k], out + k * width);
  };
  std::array<uint16_t, kPart> late;
  size_t num_late = 0;
  if constexpr (kPlainFloats) {
    const PullContext pull{
        .finder = finder, .mixed_seed = seed, .embedding = full.embedding, .width = full.columns};
    num_late = pull_rows_(pull, keys.data(), n, out, late.data());
  } else {
    struct Flight {
      uint64_t hash;
      const ShardDoor* door;
      const IndexLine* line;
      const uint32_t* row;
    };
    std::array<Flight, kStageFlights> flights;
    const auto ask_for_line = [&](size_t i) {
      Flight& flight = flights[i % kStageFlights];
      flight.hash = hash_of(i);
      flight.door = finder.DoorOf(flight.hash);
      flight.line = finder.HomeLine(flight.door, flight.hash);
      PrefetchLineOf(flight.line);
    };
    const auto ask_for_row = [&](size_t i) {
      Flight& flight = flights[i % kStageFlights];
      flight.row = finder.FirstSight(flight.door, flight.line, flight.hash).row;
      AskForWords(flight.row, row_words::kTag, last_word);
    };
    InStages(n, ask_for_line, ask_for_row, [&](size_t i) {
      if (!copy(flights[i % kStageFlights].row, i)) late[num_late++] = static_cast<uint16_t>(i);
    });
  }

  std::array<const uint32_t*, kPart> rows;  // of those that are late
  for (size_t i = 0; i < num_late; ++i) finder.AskForSecondSight(hash_of(late[i]));
  for (size_t i = 0; i < num_late; ++i) {
    rows[i] = finder.SecondSight(hash_of(late[i])).row;
    AskForWords(rows[i], row_words::kTag, last_word);
  }
  size_t num_left = 0;
  for (size_t i = 0; i < num_late; ++i) {
    if (!copy(rows[i], late[i])) late[num_left++] = late[i];
  }

  // What two sights did not show: keys that are not there, too.
  for (size_t i = 0; i < num_left; ++i) {
    const uint64_t hash = hash_of(late[i]);
    shard_for(hash).index().PrefetchOverflow(hash);
  }
  for (size_t i = 0; i < num_left; ++i) {
    const uint64_t hash = hash_of(late[i]);
    shard_for(hash).PrefetchCandidates(hash);
  }
  for (size_t i = 0; i < num_left; ++i) {
    const size_t k = late[i];
    const uint64_t hash = hash_of(k);
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
