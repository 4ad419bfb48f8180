#include "bench/table/row_maps.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include "bench/worker.h"

#if __has_include(<absl/container/flat_hash_map.h>)
#include <absl/container/flat_hash_map.h>
#define CATAMARAN_BENCH_ABSL 1
#endif
#if __has_include(<libcuckoo/cuckoohash_map.hh>)
#include <libcuckoo/cuckoohash_map.hh>
#define CATAMARAN_BENCH_CUCKOO 1
#endif

namespace catamaran::bench {
namespace {

#ifdef CATAMARAN_BENCH_ABSL
// (Numbers of rows in the map and the rows in an array, fetched in three stages, take a third
// longer.)
class AbslRows final : public RowMap {
 public:
  explicit AbslRows(size_t rows) { map_.reserve(rows); }
  void Insert(uint64_t key, const MapRow& row) override { map_.emplace(key, row); }
  // All in one function: GCC takes the map's prefetch for a function without effect, and drops
  // calls to it that are not inlined.
  __attribute__((flatten)) void Lookup(const uint64_t* keys, size_t count,
                                       float* out) const override {
    const size_t ahead = std::min(ahead_, count);
    if (ahead == 0) {
      for (size_t i = 0; i < count; ++i) Copy(keys[i], out + i * kMapWidth);
      return;
    }
    for (size_t i = 0; i < ahead; ++i) map_.prefetch(keys[i]);
    for (size_t i = 0; i + ahead < count; ++i) {
      map_.prefetch(keys[i + ahead]);
      Copy(keys[i], out + i * kMapWidth);
    }
    for (size_t i = count - ahead; i < count; ++i) Copy(keys[i], out + i * kMapWidth);
  }
  bool CanAskAhead() const override { return true; }
  void AskAhead(size_t keys) override { ahead_ = keys; }

 private:
  void Copy(uint64_t key, float* to) const {
    std::memcpy(to, map_.find(key)->second.data(), sizeof(MapRow));
  }

  absl::flat_hash_map<uint64_t, MapRow> map_;
  size_t ahead_ = 0;
};
#endif

#ifdef CATAMARAN_BENCH_CUCKOO
class CuckooRows final : public RowMap {
 public:
  explicit CuckooRows(size_t rows) : map_(rows) {}
  void Insert(uint64_t key, const MapRow& row) override { map_.insert(key, row); }
  void Lookup(const uint64_t* keys, size_t count, float* out) const override {
    for (size_t i = 0; i < count; ++i) {
      map_.find_fn(keys[i], [&](const MapRow& row) {
        std::memcpy(out + i * kMapWidth, row.data(), sizeof(MapRow));
      });
    }
  }

 private:
  libcuckoo::cuckoohash_map<uint64_t, MapRow> map_;
};
#endif

class StdRows final : public RowMap {
 public:
  explicit StdRows(size_t rows) { map_.reserve(rows); }
  void Insert(uint64_t key, const MapRow& row) override { map_.emplace(key, row); }
  void Lookup(const uint64_t* keys, size_t count, float* out) const override {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(out + i * kMapWidth, map_.find(keys[i])->second.data(), sizeof(MapRow));
    }
  }

 private:
  std::unordered_map<uint64_t, MapRow> map_;
};

}  // namespace

std::unique_ptr<RowMap> MakeRowMap(const std::string& name, [[maybe_unused]] size_t rows) {
  if (name == "std") return std::make_unique<StdRows>(rows);
#ifdef CATAMARAN_BENCH_ABSL
  if (name == "absl") return std::make_unique<AbslRows>(rows);
#endif
#ifdef CATAMARAN_BENCH_CUCKOO
  if (name == "cuckoo") return std::make_unique<CuckooRows>(rows);
#endif
  throw SkipCase("the library of '" + name + "' was not there when this was built; bench/setup");
}

std::string RowMapVersion(const std::string& name) {
#ifdef CATAMARAN_BENCH_ABSL
  if (name == "absl") {
    return "abseil " + std::to_string(ABSL_LTS_RELEASE_VERSION) + "." +
           std::to_string(ABSL_LTS_RELEASE_PATCH_LEVEL);
  }
#endif
  return name == "std" ? "libstdc++ " + std::to_string(_GLIBCXX_RELEASE) : "";
}

}  // namespace catamaran::bench
