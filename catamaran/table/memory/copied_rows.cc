#include "catamaran/table/memory/copied_rows.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {
namespace {

constexpr int64_t kChunkWords = int64_t{1} << 16;
constexpr uint32_t kSlotsPerBlock = 4096;

}  // namespace

CopiedRows::CopiedRows(int words)
    : words_(words), entries_per_chunk_(std::max<int64_t>(16, kChunkWords / (words + 1))) {}

std::unique_ptr<CopiedRows::Chunk> CopiedRows::MakeChunk() const {
  auto chunk = std::make_unique<Chunk>();
  chunk->words = std::make_unique_for_overwrite<uint32_t[]>(
      static_cast<size_t>(entries_per_chunk_ * (words_ + 1)));
  return chunk;
}

void CopiedRows::Reserve(int64_t rows) {
  if (let_go_.load(std::memory_order_acquire)) return spare_.clear();
  int64_t room = std::ssize(spare_) * entries_per_chunk_;
  if (last_ != nullptr) room += entries_per_chunk_ - last_->entries.load(std::memory_order_relaxed);
  for (; room < rows; room += entries_per_chunk_) spare_.push_back(MakeChunk());
}

void CopiedRows::Append(uint32_t slot, const uint32_t* row) {
  if (let_go_.load(std::memory_order_acquire)) return;
  Chunk* chunk = last_;
  int64_t entry = chunk == nullptr ? 0 : chunk->entries.load(std::memory_order_relaxed);
  if (chunk == nullptr || entry == entries_per_chunk_) {
    if (spare_.empty()) spare_.push_back(MakeChunk());
    chunk = spare_.back().release();
    spare_.pop_back();
    bytes_.fetch_add(entries_per_chunk_ * (words_ + 1) * 4, std::memory_order_relaxed);
    (last_ == nullptr ? first_ : last_->next).store(chunk, std::memory_order_release);
    last_ = chunk;
    entry = 0;
  }
  uint32_t* to = chunk->words.get() + entry * (words_ + 1);
  to[0] = slot;
  std::copy_n(row, words_, to + 1);
  to[1 + row_words::kTag] = RecordFeature(row);
  chunk->entries.store(entry + 1, std::memory_order_release);
}

void CopiedRows::DeleteFirst() {
  Chunk* chunk = first_.load(std::memory_order_relaxed);
  first_.store(chunk->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (chunk == last_) last_ = nullptr;
  bytes_.fetch_sub(entries_per_chunk_ * (words_ + 1) * 4, std::memory_order_relaxed);
  delete chunk;
}

void CopiedRows::Reclaim() {
  constexpr int kChunksAtOnce = 4;  // a megabyte
  if (last_ == nullptr || !let_go_.load(std::memory_order_acquire)) return;
  for (int i = 0; i < kChunksAtOnce && last_ != nullptr; ++i) DeleteFirst();
}

bool CopiedRows::NoteSome(int64_t most) {
  if (chunks_.empty() || noted_in_last_ == entries_per_chunk_) {
    const Chunk* next =
        (chunks_.empty() ? first_ : chunks_.back()->next).load(std::memory_order_acquire);
    if (next == nullptr) return false;
    chunks_.push_back(next);
    noted_in_last_ = 0;
  }
  const Chunk& chunk = *chunks_.back();
  const int64_t end =
      std::min(chunk.entries.load(std::memory_order_acquire), noted_in_last_ + most);
  if (noted_in_last_ == end) return false;
  auto number = static_cast<uint32_t>((std::ssize(chunks_) - 1) * entries_per_chunk_) +
                static_cast<uint32_t>(noted_in_last_);
  for (; noted_in_last_ < end; ++noted_in_last_) {
    const uint32_t slot = chunk.words[static_cast<size_t>(noted_in_last_ * (words_ + 1))];
    const size_t block = slot / kSlotsPerBlock;
    if (block >= places_.size()) places_.resize(block + 1);
    if (places_[block] == nullptr) places_[block] = std::make_unique<uint32_t[]>(kSlotsPerBlock);
    places_[block][slot % kSlotsPerBlock] = ++number;
  }
  return true;
}

void CopiedRows::CatchUp() {
  constexpr int64_t kEntriesABreath = 1024;
  while (NoteSome(kEntriesABreath)) Breathe();
}

const uint32_t* CopiedRows::Find(uint32_t slot) {
  while (NoteSome(entries_per_chunk_)) {
  }
  const size_t block = slot / kSlotsPerBlock;
  if (block >= places_.size() || places_[block] == nullptr) return nullptr;
  const int64_t number = int64_t{places_[block][slot % kSlotsPerBlock]} - 1;
  if (number < 0) return nullptr;
  const Chunk& chunk = *chunks_[static_cast<size_t>(number / entries_per_chunk_)];
  return chunk.words.get() + number % entries_per_chunk_ * (words_ + 1) + 1;
}

void CopiedRows::LetGo() {
  for (auto& block : places_) {
    block.reset();
    Breathe();
  }
  places_.clear();
  chunks_.clear();
  let_go_.store(true, std::memory_order_release);
}

void CopiedRows::Clear() {
  while (last_ != nullptr) DeleteFirst();
  spare_.clear();
  let_go_.store(false, std::memory_order_relaxed);
  chunks_.clear();
  noted_in_last_ = 0;
  places_.clear();
}

}  // namespace catamaran
