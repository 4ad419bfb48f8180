#include "catamaran/table/files/row_merge.h"

#include <utility>

namespace catamaran {

RowMerge::RowMerge(std::span<const RowFileRef> files, uint64_t first, uint64_t last) {
  for (size_t f = 0; f < files.size(); ++f) {
    for (int s = 0; s < kRowSections; ++s) Add(*files[f], static_cast<int>(f), s, first, last);
  }
  Start();
}

RowMerge RowMerge::OfSection(std::span<const RowFileRef> files, int section) {
  RowMerge merge;
  merge.only_ = section;
  for (size_t f = 0; f < files.size(); ++f) {
    for (int s = 0; s < kRowSections; ++s) {
      // The oldest file hides nothing.
      if (s == section || f > 0) merge.Add(*files[f], static_cast<int>(f), s, 0, UINT64_MAX);
    }
  }
  merge.Start();
  return merge;
}

void RowMerge::Add(const RowFile& file, int number, int section, uint64_t first, uint64_t last) {
  if (file.section(section).count == 0) return;
  auto cursor = std::make_unique<RowCursor>(file, section, first, last);
  if (cursor->done()) return;
  heap_.push_back({cursor->hash(), number, cursor.get()});
  cursors_.push_back(std::move(cursor));
}

void RowMerge::Start() {
  for (size_t i = heap_.size() / 2; i-- > 0;) SiftDown(i);
  Next();
}

void RowMerge::Next() {
  do {
    if (heap_.empty()) {
      done_ = true;
      return;
    }
    const RowCursor& newest = *heap_[0].cursor;
    hash_ = heap_[0].hash;
    key_ = newest.key();
    section_ = newest.section();
    record_ = newest.record();
    do {
      Advance();
    } while (!heap_.empty() && heap_[0].hash == hash_);
  } while (only_ >= 0 && section_ != only_);
}

void RowMerge::Advance() {
  Source& top = heap_[0];
  top.cursor->Next();
  if (top.cursor->done()) {
    top = heap_.back();
    heap_.pop_back();
  } else {
    top.hash = top.cursor->hash();
  }
  SiftDown(0);
}

void RowMerge::SiftDown(size_t i) {
  const size_t size = heap_.size();
  while (true) {
    size_t least = 2 * i + 1;
    if (least >= size) return;
    if (least + 1 < size && heap_[least + 1].Before(heap_[least])) ++least;
    if (!heap_[least].Before(heap_[i])) return;
    std::swap(heap_[i], heap_[least]);
    i = least;
  }
}

}  // namespace catamaran
