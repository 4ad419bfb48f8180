#include "catamaran/table/memory/memory_cut.h"

#include <algorithm>

namespace catamaran {
namespace {

// Rows that are copied under one guard; visitors may take their time.
constexpr size_t kRowsAtOnce = 64;
constexpr size_t kSlotsAtOnce = 1024;

}  // namespace

MemoryCut::MemoryCut(const MemoryStore& store, std::span<const std::unique_ptr<RowChanges>> changes,
                     const AttachedRows& attached, TableExtras extras, bool full)
    : store_(store), changes_(changes), extras_(std::move(extras)), full_(full) {
  if (!attached.attached()) return;
  for (size_t c = 0; c < kRowClasses; ++c) left_[c] = attached.left(static_cast<RowClass>(c));
  if (!full) return;
  backing_ = attached.backing();
  moved_.resize(AttachedRows::kUnits);
  for (uint64_t unit = 0; unit < AttachedRows::kUnits; ++unit) moved_[unit] = attached.moved(unit);
}

int64_t MemoryCut::num_rows(RowClass c) const {
  int64_t rows = full_ ? left_[static_cast<size_t>(c)] : 0;
  for (const auto& changes : changes_) rows += changes->CountSlots(c);
  return rows;
}

int64_t MemoryCut::total_rows(RowClass c) const {
  int64_t rows = left_[static_cast<size_t>(c)];
  for (const auto& changes : changes_) rows += changes->num_total(c);
  return rows;
}

std::vector<MemoryCut::Place> MemoryCut::Sorted(size_t shard, RowClass c) const {
  RowChanges& changes = *changes_[shard];
  std::vector<Place> places;
  places.reserve(static_cast<size_t>(changes.CountSlots(c)));
  std::vector<uint32_t> record(static_cast<size_t>(store_.layout().of(c).words));
  std::optional<Epochs::Guard> guard;
  changes.ForEachSlot(c, [&](uint32_t slot) {
    if (places.size() % kSlotsAtOnce == 0) {
      guard.reset();
      guard.emplace(store_.epochs());
    }
    changes.ReadSlot(RowHandle(c, slot), record.data());
    places.push_back({store_.config().Hash(RecordKey(record.data())), slot});
  });
  guard.reset();
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.hash < b.hash; });
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
    }
  }
}

void MemoryCut::VisitShard(size_t shard, RowClass c,
                           FunctionRef<void(const uint32_t*)> visit) const {
  const std::vector<Place> places = Sorted(shard, c);
  Reader(*this, shard, c, visit).Visit(places);
}

void MemoryCut::VisitShardAndBeneath(size_t shard, RowClass c,
                                     FunctionRef<void(const uint32_t*)> visit) const {
  std::array<std::vector<Place>, kRowClasses> places;
  for (size_t k = 0; k < kRowClasses; ++k) places[k] = Sorted(shard, static_cast<RowClass>(k));
  const auto before = [](const Place& place, uint64_t hash) { return place.hash < hash; };
  const auto in_memory = [&](uint64_t hash) {
    return std::any_of(places.begin(), places.end(), [&](const std::vector<Place>& some) {
      const auto at = std::lower_bound(some.begin(), some.end(), hash, before);
      return at != some.end() && at->hash == hash;
    });
  };
  const std::span<const Place> own = places[static_cast<size_t>(c)];
  Reader reader(*this, shard, c, visit);
  size_t done = 0;
  const auto visit_until = [&](uint64_t hash) {
    const auto end =
        std::lower_bound(own.begin() + static_cast<ptrdiff_t>(done), own.end(), hash, before);
    const auto next = static_cast<size_t>(end - own.begin());
    reader.Visit(own.subspan(done, next - done));
    done = next;
  };
  const uint64_t units = AttachedRows::kUnits / changes_.size();
  for (uint64_t unit = shard * units; unit < (shard + 1) * units; ++unit) {
    if (moved_[unit]) continue;
    backing_->Scan(AttachedRows::FirstHash(unit), AttachedRows::LastHash(unit),
                   [&](RowClass of, const uint32_t* record) {
                     if (of != c) return;
                     const uint64_t hash = store_.config().Hash(RecordKey(record));
                     if (in_memory(hash)) return;
                     visit_until(hash);
                     visit(record);
                   });
  }
  reader.Visit(own.subspan(done));
}

const std::vector<uint64_t>& MemoryCut::Deleted() const {
  if (deleted_) return *deleted_;
  deleted_.emplace();
  if (full_) return *deleted_;
  for (size_t shard = 0; shard < changes_.size(); ++shard) {
    if (changes_[shard]->deleted().empty()) continue;
    // A key that came back has changed, so it is among the rows of the cut.
    std::vector<uint64_t> back;
    for (size_t c = 0; c < kRowClasses; ++c) {
      for (const Place& place : Sorted(shard, static_cast<RowClass>(c))) back.push_back(place.hash);
    }
    std::sort(back.begin(), back.end());
    std::vector<std::pair<uint64_t, uint64_t>> keys;  // with their hashes
    for (const uint64_t key : changes_[shard]->deleted()) {
      keys.emplace_back(store_.config().Hash(key), key);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const auto& [hash, key] : keys) {
      if (!std::binary_search(back.begin(), back.end(), hash)) deleted_->push_back(key);
    }
  }
  return *deleted_;
}

void MemoryCut::ForEachDeleted(FunctionRef<void(uint64_t)> visit) {
  for (const uint64_t key : Deleted()) visit(key);
}

}  // namespace catamaran
