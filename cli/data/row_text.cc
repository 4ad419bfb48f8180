#include "cli/data/row_text.h"

#include <algorithm>
#include <cmath>

namespace catamaran::cli {
namespace {

constexpr int64_t kShown = 6;       // elements of a list or array
constexpr size_t kShownBytes = 40;  // of a string

// Element i of a dense column.
std::string NumberText(const Column& column, const ColumnBlock& block, size_t i) {
  if (column.dtype == DType::kI64) return fmt::format("{}", block.ints[i]);
  if (column.dtype == DType::kU8) return fmt::format("{}", block.bytes[i]);
  return std::isnan(block.floats[i]) ? "-" : fmt::format("{}", block.floats[i]);
}

Json ElementJson(const Column& column, const ColumnBlock& block, size_t i) {
  if (column.dtype == DType::kI64) return block.ints[i];
  if (column.dtype == DType::kU8) return block.bytes[i];
  return std::isnan(block.floats[i]) ? Json() : NumberJson(block.floats[i]);
}

// The elements from `next` on, nested as the axes from `axis` on say.
Json NestedJson(const Column& column, const ColumnBlock& block, int axis, size_t& next) {
  if (axis == column.shape.rank()) return ElementJson(column, block, next++);
  Json list = Json::array();
  for (int64_t i = 0; i < column.shape[axis]; ++i) {
    list.push_back(NestedJson(column, block, axis + 1, next));
  }
  return list;
}

std::string StringText(std::string_view text) {
  if (text.empty()) return "-";
  std::string out;
  for (char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  // A character of several bytes is not cut in two.
  if (text.size() > kShownBytes) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "…";
  }
  return out;
}

}  // namespace

std::string ValueText(const Column& column, const ColumnBlock& block, int64_t row) {
  if (column.kind == ColumnKind::kString) return StringText(block.text(row));
  std::string out;
  if (column.kind == ColumnKind::kDense) {
    const int64_t width = column.width();
    const auto first = static_cast<size_t>(row * width);
    if (column.shape.rank() == 0) return NumberText(column, block, first);
    for (int64_t i = 0; i < std::min(width, kShown); ++i) {
      out += (i == 0 ? "[" : " ") + NumberText(column, block, first + static_cast<size_t>(i));
    }
    return out + (width > kShown ? fmt::format(" … {} numbers]", width) : "]");
  }
  const auto ids = block.ids(row);
  if (ids.empty()) return "-";
  for (size_t i = 0; i < ids.size() && i < kShown; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : " ", ids[i]);
    if (column.kind == ColumnKind::kWeightedIds) out += fmt::format(":{}", block.weights(row)[i]);
  }
  return out + (ids.size() > kShown ? fmt::format(" … {} ids", ids.size()) : "");
}

Json ValueJson(const Column& column, const ColumnBlock& block, int64_t row) {
  if (column.kind == ColumnKind::kString) return std::string(block.text(row));
  if (column.kind == ColumnKind::kDense) {
    auto next = static_cast<size_t>(row * column.width());
    return NestedJson(column, block, 0, next);
  }
  Json list = Json::array();
  const auto ids = block.ids(row);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (column.kind == ColumnKind::kWeightedIds) {
      list.push_back(Json::array({ids[i], NumberJson(block.weights(row)[i])}));
    } else {
      list.push_back(ids[i]);
    }
  }
  return list;
}

}  // namespace catamaran::cli
