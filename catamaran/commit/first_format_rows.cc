// commit/first_format_rows.cc

#include "catamaran/commit/first_format_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "catamaran/table/reference_table.h"

namespace catamaran {
namespace {

constexpr char kSeparator = '/';  // between a table's path and the name of its tensor

// Everything that a cut held, in memory.
class RowsInMemory final : public RowBacking {
 public:
  RowsInMemory(const TableConfig& config, const RowLayout& layout, TableCut& cut)
      : config_(config), layout_(layout), extras_(cut.extras()) {
    for (int c = 0; c < kRowClasses; ++c) {
      std::vector<uint32_t>& words = words_[static_cast<size_t>(c)];
      const int count = layout_.of(static_cast<RowClass>(c)).words;
      cut.ForEachRow(static_cast<RowClass>(c), [&](const uint32_t* record) {
        words.insert(words.end(), record, record + count);
      });
    }
  }

  const uint32_t* Find(uint64_t key, RowClass* c) const override {
    const uint64_t hash = config_.Hash(key);
    for (int k = 0; k < kRowClasses; ++k) {
      const auto found = static_cast<RowClass>(k);
      const int64_t i = LowerBound(found, hash);
      if (i == num_rows(found) || HashAt(found, i) != hash) continue;
      *c = found;
      return Record(found, i);
    }
    return nullptr;
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit) const override {
    for (int k = 0; k < kRowClasses; ++k) {
      const auto c = static_cast<RowClass>(k);
      for (int64_t i = LowerBound(c, first); i < num_rows(c) && HashAt(c, i) <= last; ++i) {
        visit(c, Record(c, i));
      }
    }
  }
  int64_t num_rows(RowClass c) const override {
    return static_cast<int64_t>(words_[static_cast<size_t>(c)].size()) / layout_.of(c).words;
  }
  const TableExtras& extras() const override { return extras_; }

 private:
  const uint32_t* Record(RowClass c, int64_t i) const {
    return words_[static_cast<size_t>(c)].data() + i * layout_.of(c).words;
  }
  uint64_t HashAt(RowClass c, int64_t i) const { return config_.Hash(RecordKey(Record(c, i))); }
  int64_t LowerBound(RowClass c, uint64_t hash) const {
    int64_t first = 0, last = num_rows(c);
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      if (HashAt(c, middle) < hash) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  const TableConfig config_;
  const RowLayout layout_;
  const TableExtras extras_;
  std::array<std::vector<uint32_t>, kRowClasses> words_;  // records, in the order of their hash
};

}  // namespace

std::shared_ptr<const RowBacking> ReadFirstFormatRows(const SafetensorsFile& rows,
                                                      const std::string& path,
                                                      const DurableTable& table) {
  NamedTensors tensors;
  const std::string prefix = path + kSeparator;
  for (const NamedTensor& entry : rows.tensors) {
    if (entry.name.starts_with(prefix)) {
      tensors.emplace_back(entry.name.substr(prefix.size()), entry.tensor);
    }
  }
  ReferenceTable old(table.config());
  old.Import(tensors);
  std::unique_ptr<TableCut> cut = old.Cut(/*full=*/true);
  auto backing = std::make_shared<const RowsInMemory>(table.config(), table.layout(), *cut);
  old.EndCut(std::move(cut), /*kept=*/true);
  return backing;
}

}  // namespace catamaran
