#include "catamaran/data/text/json_infer.h"

#include <algorithm>

#include "catamaran/tensor/shape.h"

namespace catamaran {

void JsonColumns::Add(const JsonDocument& row) {
  AddObject(row, 0, "");
  ++rows_;
}

void JsonColumns::AddObject(const JsonDocument& row, size_t object, const std::string& prefix) {
  const auto& nodes = row.nodes();
  for (size_t i = object + 1; i < nodes[object].end;) {
    const std::string name = prefix + std::string(nodes[i].text);
    const size_t value = i + 1;
    i = nodes[value].end;
    if (nodes[value].kind == JsonKind::kObject && nodes[value].count > 0) {
      AddObject(row, value, name + ".");
      continue;
    }
    const auto [found, is_new] = index_.try_emplace(name, seen_.size());
    if (is_new) {
      seen_.emplace_back();
      names_.push_back(name);
    }
    Seen& seen = seen_[found->second];
    if (seen.last_named != rows_) ++seen.named;
    seen.last_named = rows_;
    if (nodes[value].kind == JsonKind::kNull) continue;
    if (seen.last != rows_) ++seen.rows;
    seen.last = rows_;
    AddValue(row, value, seen);
  }
}

void JsonColumns::AddValue(const JsonDocument& row, size_t value, Seen& seen) {
  const auto& nodes = row.nodes();
  const JsonNode& node = nodes[value];
  if (node.kind == JsonKind::kTrue || node.kind == JsonKind::kFalse) {
    seen.whole = true;
  } else if (node.kind == JsonKind::kNumber) {
    // What no i64 holds is a number like others.
    (node.integer && node.text.size() <= 18 ? seen.whole : seen.fraction) = true;
  } else if (node.kind == JsonKind::kArray) {
    std::vector<int64_t> shape;
    if (!ShapeOf(row, value, &shape, &seen.fraction)) seen.not_numbers = true;
    if (seen.array && shape != seen.shape) seen.ragged = true;
    seen.array = true;
    seen.shape = shape;
    for (size_t i = value + 1; i < node.end; i = nodes[i].end) {
      if (!(nodes[i].kind == JsonKind::kNumber && nodes[i].integer)) seen.not_ids = true;
      if (!(nodes[i].kind == JsonKind::kArray && nodes[i].count == 2 && nodes[i + 1].integer &&
            nodes[i + 2].kind == JsonKind::kNumber)) {
        seen.not_pairs = true;
      }
    }
  } else {
    seen.text = true;
  }
}

// False unless it is an array of numbers, or of arrays of one shape of numbers.
bool JsonColumns::ShapeOf(const JsonDocument& row, size_t array, std::vector<int64_t>* shape,
                          bool* fraction) {
  const auto& nodes = row.nodes();
  shape->assign(1, nodes[array].count);
  std::vector<int64_t> inner;
  bool first = true;
  for (size_t i = array + 1; i < nodes[array].end; i = nodes[i].end) {
    std::vector<int64_t> here;
    if (nodes[i].kind == JsonKind::kArray) {
      if (!ShapeOf(row, i, &here, fraction)) return false;
    } else if (nodes[i].kind != JsonKind::kNumber) {
      return false;
    } else if (!nodes[i].integer) {
      *fraction = true;
    }
    if (!first && here != inner) return false;
    inner = here;
    first = false;
  }
  shape->insert(shape->end(), inner.begin(), inner.end());
  return true;
}

Column JsonColumns::ColumnOf(const std::string& name, const Seen& seen) const {
  const bool everywhere = seen.rows == rows_;
  if (seen.text || seen.rows == 0) return Column::String(name);
  if (seen.array) {
    if (seen.whole) return Column::String(name);
    if (!seen.not_ids) return Column::Ids(name);
    const bool has_elements = std::ranges::none_of(seen.shape, [](int64_t n) { return n == 0; });
    if (!seen.not_numbers && !seen.ragged && everywhere && has_elements &&
        seen.shape.size() <= static_cast<size_t>(kMaxRank)) {
      return Column::Dense(name, DType::kF32, Shape(seen.shape));
    }
    if (!seen.not_pairs) return Column::WeightedIds(name);
    return Column::String(name);
  }
  return Column::Dense(name, everywhere && !seen.fraction ? DType::kI64 : DType::kF32);
}

std::vector<Column> JsonColumns::Columns() const {
  std::vector<Column> columns;
  for (size_t i = 0; i < seen_.size(); ++i) columns.push_back(ColumnOf(names_[i], seen_[i]));
  return columns;
}

std::vector<std::string> JsonColumns::Optional() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].named != rows_) names.push_back(names_[i]);
  }
  return names;
}

}  // namespace catamaran
