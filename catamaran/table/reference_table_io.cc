// The contents of a ReferenceTable as tensors, and back.

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
        Fail("table: {} is {}{}; wanted {}{}", name, Name(tensor.dtype()),
             tensor.shape().ToString(), Name(DTypeOf<T>), shape.ToString());
      }
      return tensor.template data<T>();
    }
    Fail("table: {} is missing", name);
  }

  // The length of a vector, whatever it holds.
  int64_t Length(const std::string& name) const {
    for (const auto& [found, tensor] : tensors_) {
      if (found == name && tensor.rank() == 1) return tensor.dim(0);
    }
    Fail("table: {} is missing or not a vector", name);
  }

 private:
  const NamedTensors& tensors_;
};

struct SlotPlace {
  std::string name;
  int64_t offset, size;
  bool per_row;
};

std::vector<SlotPlace> SlotPlaces(const TableConfig& config) {
  std::vector<SlotPlace> places;
  if (!config.optimizer) return places;
  int64_t offset = config.width;
  for (const SlotFact& slot : config.optimizer->slots()) {
    const int64_t size = slot.per_row ? 1 : config.width;
    places.push_back({"slot." + std::string(slot.name), offset, size, slot.per_row});
    offset += size;
  }
  return places;
}

// A column of metadata from a map of rows or of waiting keys.
template <class T, class Map, class F>
Tensor Gather(const Map& map, F&& value) {
  std::vector<T> column;
  column.reserve(map.size());
  for (const auto& [key, entry] : map) column.push_back(value(key, entry));
  return Tensor::FromVector(column);
}

template <class Map>
void ExportMetadata(const Map& map, const std::string& prefix, NamedTensors& out) {
  out.emplace_back(prefix + "show",
                   Gather<float>(map, [](auto, const auto& e) { return e.metadata.show; }));
  out.emplace_back(prefix + "click",
                   Gather<float>(map, [](auto, const auto& e) { return e.metadata.click; }));
  out.emplace_back(prefix + "last_seen",
                   Gather<int64_t>(map, [](auto, const auto& e) { return e.metadata.last_seen; }));
}

}  // namespace

NamedTensors ReferenceTable::Export() const {
  std::lock_guard lock(mutex_);
  NamedTensors out;
  const int64_t n = static_cast<int64_t>(rows_.size());
  const auto part = [&](int64_t offset, int64_t size, const Shape& shape) {
    std::vector<float> values;
    values.reserve(static_cast<size_t>(n * size));
    for (const auto& [key, row] : rows_) {
      const float* from = row.numbers.data() + offset;
      values.insert(values.end(), from, from + size);
    }
    return Tensor::FromVector(shape, values);
  };
  const auto key_of = [](uint64_t key, const auto&) { return key; };

  out.emplace_back("keys", Gather<uint64_t>(rows_, key_of));
  out.emplace_back("values", part(0, config_.width, {n, config_.width}));
  for (const SlotPlace& slot : SlotPlaces(config_)) {
    const Shape shape = slot.per_row ? Shape{n} : Shape{n, slot.size};
    out.emplace_back(slot.name, part(slot.offset, slot.size, shape));
  }
  out.emplace_back("updates",
                   Gather<int64_t>(rows_, [](auto, const Row& row) { return row.updates; }));
  ExportMetadata(rows_, "", out);

  out.emplace_back("waiting.keys", Gather<uint64_t>(waiting_, key_of));
  out.emplace_back("waiting.count",
                   Gather<int64_t>(waiting_, [](auto, const Waiting& w) { return w.count; }));
  ExportMetadata(waiting_, "waiting.", out);

  if (config_.unadmitted == Unadmitted::kShared) {
    const float* numbers = shared_.numbers.data();
    const auto copy = [&](int64_t offset, int64_t size) {
      return Tensor::FromVector(std::vector<float>(numbers + offset, numbers + offset + size));
    };
    out.emplace_back("shared.values", copy(0, config_.width));
    for (const SlotPlace& slot : SlotPlaces(config_)) {
      out.emplace_back("shared." + slot.name, copy(slot.offset, slot.size));
    }
    out.emplace_back("shared.updates", Tensor::Scalar<int64_t>(shared_.updates));
  }
  return out;
}

void ReferenceTable::Import(const NamedTensors& tensors) {
  const Reader reader(tensors);
  const std::vector<SlotPlace> slots = SlotPlaces(config_);
  const int64_t n = reader.Length("keys");
  const size_t total = static_cast<size_t>(config_.width + slot_width_);

  const auto keys = reader.Get<uint64_t>("keys", {n});
  const auto updates = reader.Get<int64_t>("updates", {n});
  const auto show = reader.Get<float>("show", {n});
  const auto click = reader.Get<float>("click", {n});
  const auto last_seen = reader.Get<int64_t>("last_seen", {n});
  std::vector<Row> loaded(static_cast<size_t>(n));
  for (Row& row : loaded) row.numbers.resize(total);
  const auto fill = [&](std::span<const float> column, int64_t offset, int64_t size) {
    for (size_t r = 0; r < loaded.size(); ++r) {
      std::copy_n(column.data() + static_cast<int64_t>(r) * size, size,
                  loaded[r].numbers.data() + offset);
    }
  };
  fill(reader.Get<float>("values", {n, config_.width}), 0, config_.width);
  for (const SlotPlace& slot : slots) {
    const Shape shape = slot.per_row ? Shape{n} : Shape{n, slot.size};
    fill(reader.Get<float>(slot.name, shape), slot.offset, slot.size);
  }
  std::map<uint64_t, Row> rows;
  for (size_t r = 0; r < loaded.size(); ++r) {
    loaded[r].updates = updates[r];
    loaded[r].metadata = {show[r], click[r], last_seen[r]};
    if (!rows.emplace(keys[r], std::move(loaded[r])).second) {
      Fail("table: key {} stands twice among the keys", keys[r]);
    }
  }

  const int64_t m = reader.Length("waiting.keys");
  const auto waiting_keys = reader.Get<uint64_t>("waiting.keys", {m});
  const auto waiting_count = reader.Get<int64_t>("waiting.count", {m});
  const auto waiting_show = reader.Get<float>("waiting.show", {m});
  const auto waiting_click = reader.Get<float>("waiting.click", {m});
  const auto waiting_seen = reader.Get<int64_t>("waiting.last_seen", {m});
  std::map<uint64_t, Waiting> waiting;
  for (size_t i = 0; i < waiting_keys.size(); ++i) {
    waiting[waiting_keys[i]] = {waiting_count[i],
                                {waiting_show[i], waiting_click[i], waiting_seen[i]}};
  }

  Row shared;
  if (config_.unadmitted == Unadmitted::kShared) {
    shared.numbers.resize(total);
    const auto take = [&](const std::string& name, int64_t offset, int64_t size) {
      const auto column = reader.Get<float>(name, {size});
      std::copy(column.begin(), column.end(), shared.numbers.begin() + offset);
    };
    take("shared.values", 0, config_.width);
    for (const SlotPlace& slot : slots) take("shared." + slot.name, slot.offset, slot.size);
    shared.updates = reader.Get<int64_t>("shared.updates", {})[0];
  }

  std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
  waiting_ = std::move(waiting);
  shared_ = std::move(shared);
}

}  // namespace catamaran
