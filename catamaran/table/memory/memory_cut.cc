#include "catamaran/table/memory/memory_cut.h"

#include <algorithm>
#include <bit>

#include "catamaran/base/background.h"

namespace catamaran {
namespace {

// Rows that are copied under one guard; visitors may take their time.
constexpr size_t kRowsAtOnce = 64;
constexpr size_t kSlotsAtOnce = 64;

}  // namespace

MemoryCut::MemoryCut(const MemoryStore& store, std::span<const std::unique_ptr<RowChanges>> changes,
                     const AttachedRows& attached, TableExtras extras, bool full)
    : store_(store),
      changes_(changes),
      shard_bits_(std::countr_zero(changes.size())),
      extras_(std::move(extras)),
      full_(full) {
  if (!attached.attached()) return;
  for (size_t c = 0; c < kRowClasses; ++c) left_[c] = attached.left(static_cast<RowClass>(c));
  if (!full) return;
  backing_ = attached.backing();
  moved_.resize(AttachedRows::kUnits);
  for (uint64_t unit = 0; unit < AttachedRows::kUnits; ++unit) moved_[unit] = attached.moved(unit);
}

int64_t MemoryCut::num_rows(RowClass c) const {
  int64_t rows = full_ ? left_[static_cast<size_t>(c)] : 0;
  for (const auto& changes : changes_) {
    rows += changes->CountSlots(c);
    Breathe();
  }
  return rows;
}

int64_t MemoryCut::total_rows(RowClass c) const {
  int64_t rows = left_[static_cast<size_t>(c)];
  for (const auto& changes : changes_) rows += changes->num_total(c);
  return rows;
}

HashRanges<MemoryCut::Place> MemoryCut::Places(size_t shard, RowClass c) const {
  RowChanges& changes = *changes_[shard];
  HashRanges<Place> places(changes.CountSlots(c), shard_bits_);
  std::optional<Epochs::Guard> guard;
  size_t count = 0;
  changes.ForEachSlot(c, [&](uint32_t slot) {
    if (count++ % kSlotsAtOnce == 0) {
      guard.reset();
      Breathe();
      changes.CatchUp(c);
      guard.emplace(store_.epochs());
    }
    places.Add({store_.config().Hash(changes.ReadKey(RowHandle(c, slot))), slot});
  });
  return places;
}

class MemoryCut::Reader {
 public:
  Reader(const MemoryCut& cut, size_t shard, RowClass c, FunctionRef<void(const uint32_t*)> visit)
      : store_(cut.store_),
        changes_(*cut.changes_[shard]),
        class_(c),
        words_(static_cast<size_t>(cut.store_.layout().of(c).words)),
        records_(words_ * kRowsAtOnce),
        visit_(visit) {}

  void Visit(std::span<const Place> places) {
    const Shard& shard = changes_.shard();
    for (size_t begin = 0; begin < places.size(); begin += kRowsAtOnce) {
      const auto block = places.subspan(begin, std::min(kRowsAtOnce, places.size() - begin));
      changes_.CatchUp(class_);
      {
        Epochs::Guard guard(store_.epochs());
        for (const Place& place : block) {
          const uint32_t* row = shard.row(RowHandle(class_, place.slot));
          for (size_t w = 0; w < words_; w += 16) __builtin_prefetch(row + w);
        }
        for (size_t i = 0; i < block.size(); ++i) {
          changes_.ReadSlot(RowHandle(class_, block[i].slot), records_.data() + i * words_);
        }
      }
      for (size_t i = 0; i < block.size(); ++i) visit_(records_.data() + i * words_);
      Breathe();
    }
  }

 private:
  const MemoryStore& store_;
  RowChanges& changes_;
  const RowClass class_;
  const size_t words_;
  std::vector<uint32_t> records_;
  FunctionRef<void(const uint32_t*)> visit_;
};

void MemoryCut::ForEachRow(RowClass c, FunctionRef<void(const uint32_t*)> visit) {
  for (size_t shard = 0; shard < changes_.size(); ++shard) {
    if (backing_ != nullptr) {
      VisitShardAndBeneath(shard, c, visit);
    } else {
      VisitShard(shard, c, visit);
      changes_[shard]->LetGo(c);
    }
  }
  compared_[static_cast<size_t>(c)] = true;
}

void MemoryCut::VisitShard(size_t shard, RowClass c,
                           FunctionRef<void(const uint32_t*)> visit) const {
  HashRanges<Place> places = Places(shard, c);
  HashRanges<DeletedKey>& removed = Removed()[shard];
  const bool compare = removed.size() > 0 && !compared_[static_cast<size_t>(c)];
  Reader reader(*this, shard, c, visit);
  for (size_t range = 0; range < places.size(); ++range) {
    const std::span<const Place> sorted = places.Sorted(range);
    if (compare) MarkBack(removed, sorted);
    reader.Visit(sorted);
    places.Release(range);
  }
}

void MemoryCut::VisitShardAndBeneath(size_t shard, RowClass c,
                                     FunctionRef<void(const uint32_t*)> visit) const {
  std::array<HashRanges<Place>, kRowClasses> places;
  for (size_t k = 0; k < kRowClasses; ++k) places[k] = Places(shard, static_cast<RowClass>(k));
  const auto in_memory = [&](uint64_t hash) {
    return std::any_of(places.begin(), places.end(),
                       [&](HashRanges<Place>& some) { return !some.Equal(hash).empty(); });
  };
  HashRanges<Place>& own = places[static_cast<size_t>(c)];
  Reader reader(*this, shard, c, visit);
  size_t range = 0, done = 0;  // places of that range have been visited
  // Those below `hash`.
  const auto visit_until = [&](uint64_t hash) {
    for (; range < own.size() && range <= own.RangeOf(hash); ++range, done = 0) {
      const std::span<const Place> left = std::span<const Place>(own.Sorted(range)).subspan(done);
      const auto end =
          std::lower_bound(left.begin(), left.end(), hash,
                           [](const Place& place, uint64_t h) { return place.hash < h; });
      const auto count = static_cast<size_t>(end - left.begin());
      reader.Visit(left.first(count));
      done += count;
      if (range == own.RangeOf(hash)) return;
    }
  };
  const uint64_t units = AttachedRows::kUnits / changes_.size();
  for (uint64_t unit = shard * units; unit < (shard + 1) * units; ++unit) {
    if (moved_[unit]) continue;
    size_t rows = 0;
    backing_->Scan(AttachedRows::FirstHash(unit), AttachedRows::LastHash(unit),
                   [&](RowClass of, const uint32_t* record) {
                     if (++rows % kRowsAtOnce == 0) Breathe();
                     if (of != c) return;
                     const uint64_t hash = store_.config().Hash(RecordKey(record));
                     if (in_memory(hash)) return;
                     visit_until(hash);
                     visit(record);
                   });
  }
  for (; range < own.size(); ++range, done = 0) {
    reader.Visit(std::span<const Place>(own.Sorted(range)).subspan(done));
  }
}

std::vector<HashRanges<MemoryCut::DeletedKey>>& MemoryCut::Removed() const {
  if (removed_) return *removed_;
  removed_.emplace(changes_.size());
  if (full_) return *removed_;
  for (size_t shard = 0; shard < changes_.size(); ++shard) {
    const std::vector<uint64_t>& keys = changes_[shard]->deleted();
    if (keys.empty()) continue;
    HashRanges<DeletedKey>& removed = (*removed_)[shard];
    removed = HashRanges<DeletedKey>(std::ssize(keys), shard_bits_);
    for (size_t i = 0; i < keys.size(); ++i) {
      removed.Add({store_.config().Hash(keys[i]), keys[i], false});
      if (i % kSlotsAtOnce == 0) Breathe();
    }
  }
  return *removed_;
}

void MemoryCut::MarkBack(HashRanges<DeletedKey>& removed, std::span<const Place> places) {
  for (size_t i = 0; i < places.size(); ++i) {
    for (DeletedKey& key : removed.Equal(places[i].hash)) key.came_back = true;
    if (i % 16 == 0) Breathe();  // each may have sorted a range
  }
}

const std::vector<uint64_t>& MemoryCut::Deleted() const {
  if (deleted_) return *deleted_;
  std::vector<HashRanges<DeletedKey>>& removed = Removed();
  deleted_.emplace();
  size_t most = 0;
  for (const auto& changes : changes_) most += changes->deleted().size();
  if (!full_) deleted_->reserve(most);
  for (size_t shard = 0; shard < removed.size(); ++shard) {
    if (removed[shard].size() == 0) continue;
    for (size_t c = 0; c < kRowClasses; ++c) {
      if (compared_[c]) continue;
      HashRanges<Place> places = Places(shard, static_cast<RowClass>(c));
      for (size_t range = 0; range < places.size(); ++range) {
        MarkBack(removed[shard], places.Sorted(range));
        places.Release(range);
        Breathe();
      }
    }
    for (size_t range = 0; range < removed[shard].size(); ++range) {
      for (const DeletedKey& key : removed[shard].Sorted(range)) {
        // One may stand there more than once.
        if (!key.came_back && (deleted_->empty() || deleted_->back() != key.key)) {
          deleted_->push_back(key.key);
        }
      }
      Breathe();
    }
  }
  compared_.fill(true);
  return *deleted_;
}

void MemoryCut::ForEachDeleted(FunctionRef<void(uint64_t)> visit) {
  for (const uint64_t key : Deleted()) visit(key);
}

}  // namespace catamaran
