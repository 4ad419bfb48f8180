// The contents of a ReferenceTable as the tensors of states of the first format, and back.

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {
namespace {

class Reader {
 public:
  explicit Reader(const NamedTensors& tensors) : tensors_(tensors) {}

  template <class T>
  std::span<const T> Get(const std::string& name, const Shape& shape) const {
    for (const auto& [found, tensor] : tensors_) {
      if (found != name) continue;
      if (tensor.dtype() != DTypeOf<T> || tensor.shape() != shape) {
        Fail(ErrorCode::kStorage, "table: {} is {}{}; wanted {}{}", name, Name(tensor.dtype()),
             tensor.shape().ToString(), Name(DTypeOf<T>), shape.ToString());
      }
      return tensor.template data<T>();
    }
    Fail(ErrorCode::kStorage, "table: {} is missing", name);
  }

  // The length of a vector, whatever it holds.
  int64_t Length(const std::string& name) const {
    for (const auto& [found, tensor] : tensors_) {
      if (found == name && tensor.rank() == 1) return tensor.dim(0);
    }
    Fail(ErrorCode::kStorage, "table: {} is missing or not a vector", name);
  }

 private:
  const NamedTensors& tensors_;
};

// One number of every record, as a column.
template <class T, class Records, class F>
Tensor Gather(const Records& records, F&& value) {
  std::vector<T> column;
  column.reserve(records.size());
  for (const auto& [key, record] : records) column.push_back(static_cast<T>(value(record)));
  return Tensor::FromVector(column);
}

using Records = std::map<uint64_t, const uint32_t*>;

void ExportMetadata(const Records& records, const std::string& prefix, NamedTensors& out) {
  const auto number = [&](int word) {
    return Gather<float>(records, [&](const uint32_t* r) { return RecordFloat(r, word); });
  };
  out.emplace_back(prefix + "show", number(row_words::kShow));
  out.emplace_back(prefix + "click", number(row_words::kClick));
  out.emplace_back(prefix + "last_seen", Gather<int64_t>(records, [](const uint32_t* r) {
                     return int64_t{r[row_words::kLastSeen]} * kNanosecondsPerSecond;
                   }));
}

Tensor Keys(const Records& records) {
  return Gather<uint64_t>(records, [](const uint32_t* r) { return RecordKey(r); });
}

void CheckFirstFormat(const TableConfig& config) {
  if (config.store == RowStore::kF32 && !config.grow_at) return;
  Fail("table: states of the first format hold rows of f32 that do not grow");
}

std::string SlotName(const TableConfig& config, size_t k) {
  return "slot." + std::string(config.optimizer->slots()[k].name);
}

}  // namespace

NamedTensors ReferenceTable::Export() const {
  CheckFirstFormat(config());
  std::lock_guard lock(mutex_);
  Records rows, waiting;
  for (const auto& [hash, entry] : entries_) {
    const uint32_t* record = entry.record.data();
    (entry.c == RowClass::kWaiting ? waiting : rows)[RecordKey(record)] = record;
  }
  const RowLayout::Class& full = layout().of(RowClass::kFull);
  const auto words = [&](int first, int count, const Shape& shape, const Records& records) {
    std::vector<float> values;
    for (const auto& [key, record] : records) {
      for (int i = 0; i < count; ++i) values.push_back(RecordFloat(record, first + i));
    }
    return Tensor::FromVector(shape, values);
  };
  const auto updates = [&](const uint32_t* r) {
    return layout().counts_updates ? int64_t{r[row_words::kUpdates]} : 0;
  };

  NamedTensors out;
  const auto n = static_cast<int64_t>(rows.size());
  out.emplace_back("keys", Keys(rows));
  out.emplace_back("values", words(full.embedding, full.columns, {n, full.columns}, rows));
  for (size_t k = 0; k < static_cast<size_t>(full.num_slots); ++k) {
    const bool per_row = config().optimizer->slots()[k].per_row;
    const Shape shape = per_row ? Shape{n} : Shape{n, full.slot_words[k]};
    out.emplace_back(SlotName(config(), k), words(full.slot[k], full.slot_words[k], shape, rows));
  }
  out.emplace_back("updates", Gather<int64_t>(rows, updates));
  ExportMetadata(rows, "", out);
  out.emplace_back("waiting.keys", Keys(waiting));
  out.emplace_back("waiting.count", Gather<int64_t>(waiting, [](const uint32_t* r) {
                     return int64_t{r[row_words::kCount]};
                   }));
  ExportMetadata(waiting, "waiting.", out);
  if (policies_.shared) {
    const std::vector<uint32_t> record = policies_.shared->Record();
    const Records shared = {{0, record.data()}};
    out.emplace_back("shared.values", words(full.embedding, full.columns, {full.columns}, shared));
    for (size_t k = 0; k < static_cast<size_t>(full.num_slots); ++k) {
      out.emplace_back("shared." + SlotName(config(), k),
                       words(full.slot[k], full.slot_words[k], {full.slot_words[k]}, shared));
    }
    out.emplace_back("shared.updates", Tensor::Scalar<int64_t>(updates(record.data())));
  }
  return out;
}

void ReferenceTable::Import(const NamedTensors& tensors) {
  CheckFirstFormat(config());
  const Reader reader(tensors);
  const RowRules& rules = policies_.rules;
  const RowLayout::Class& full = layout().of(RowClass::kFull);
  const auto put = [](std::span<const float> column, size_t row, int first, int count,
                      uint32_t* record) {
    for (int i = 0; i < count; ++i) {
      SetRecordFloat(record, first + i,
                     column[row * static_cast<size_t>(count) + static_cast<size_t>(i)]);
    }
  };
  const auto set_updates = [&](int64_t updates, uint32_t* record) {
    if (layout().counts_updates) record[row_words::kUpdates] = static_cast<uint32_t>(updates);
  };
  Entries entries;
  // The records of one class with the metadata that all have.
  const auto make = [&](RowClass c, const std::string& prefix) {
    const int64_t n = reader.Length(prefix + "keys");
    const auto keys = reader.Get<uint64_t>(prefix + "keys", {n});
    const auto show = reader.Get<float>(prefix + "show", {n});
    const auto click = reader.Get<float>(prefix + "click", {n});
    const auto seen = reader.Get<int64_t>(prefix + "last_seen", {n});
    std::vector<uint32_t*> made;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto [it, is_new] = entries.try_emplace(config().Hash(keys[i]));
      if (!is_new) Fail(ErrorCode::kStorage, "table: key {} stands twice among the keys", keys[i]);
      it->second.c = c;
      it->second.record.resize(static_cast<size_t>(layout().of(c).words));
      uint32_t* record = it->second.record.data();
      rules.Make(c, keys[i], 0, LastSeenSeconds(seen[i]), record);
      RowRules::See(show[i], click[i], record);
      made.push_back(record);
    }
    return made;
  };

  const std::vector<uint32_t*> rows = make(RowClass::kFull, "");
  const auto n = static_cast<int64_t>(rows.size());
  const auto updates = reader.Get<int64_t>("updates", {n});
  const auto values = reader.Get<float>("values", {n, full.columns});
  for (size_t i = 0; i < rows.size(); ++i) {
    put(values, i, full.embedding, full.columns, rows[i]);
    set_updates(updates[i], rows[i]);
  }
  for (size_t k = 0; k < static_cast<size_t>(full.num_slots); ++k) {
    const bool per_row = config().optimizer->slots()[k].per_row;
    const Shape shape = per_row ? Shape{n} : Shape{n, full.slot_words[k]};
    const auto slot = reader.Get<float>(SlotName(config(), k), shape);
    for (size_t i = 0; i < rows.size(); ++i)
      put(slot, i, full.slot[k], full.slot_words[k], rows[i]);
  }
  const std::vector<uint32_t*> waiting = make(RowClass::kWaiting, "waiting.");
  const auto counts = reader.Get<int64_t>("waiting.count", {static_cast<int64_t>(waiting.size())});
  for (size_t i = 0; i < waiting.size(); ++i) {
    waiting[i][row_words::kCount] = static_cast<uint32_t>(counts[i]);
  }
  std::vector<uint32_t> shared;
  if (policies_.shared) {
    shared = policies_.shared->Record();
    put(reader.Get<float>("shared.values", {full.columns}), 0, full.embedding, full.columns,
        shared.data());
    for (size_t k = 0; k < static_cast<size_t>(full.num_slots); ++k) {
      put(reader.Get<float>("shared." + SlotName(config(), k), {full.slot_words[k]}), 0,
          full.slot[k], full.slot_words[k], shared.data());
    }
    set_updates(reader.Get<int64_t>("shared.updates", {})[0], shared.data());
  }

  std::lock_guard lock(mutex_);
  for (const auto& [hash, entry] : entries_) {
    deleted_.emplace(hash, RecordKey(entry.record.data()));
  }
  entries_ = std::move(entries);
  for (const auto& [hash, entry] : entries_) changed_.insert(hash);
  if (policies_.shared) policies_.shared->SetRecord(shared);
}

}  // namespace catamaran
