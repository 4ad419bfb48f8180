#include "catamaran/serve/wire/request_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/unaligned.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/json_text.h"

namespace catamaran {
namespace {

static_assert(std::endian::native == std::endian::little);

// Of one request's rows: names, and texts of one row for all, stand in each of them.
constexpr size_t kMaxRowsBytes = size_t{256} << 20;

std::vector<std::string> SplitTexts(std::string_view name, std::string_view bytes,
                                    int64_t elements) {
  std::vector<std::string> texts;
  // No more than there can be, whatever the shape says.
  texts.reserve(std::min<size_t>(static_cast<size_t>(elements), bytes.size() / 4));
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() < sizeof length || bytes.size() - sizeof length < length) {
      Fail("input '{}': element {} goes beyond the end of the data", name, texts.size());
    }
    texts.emplace_back(bytes.substr(sizeof length, length));
    bytes.remove_prefix(sizeof length + length);
  }
  return texts;
}

}  // namespace

Shape InputShape(std::string_view name, std::span<const int64_t> dims) {
  try {
    const Shape shape(dims);
    static_cast<void>(shape.num_elements());
    return shape;
  } catch (const Error& error) {
    Fail(error.code(), "input '{}': {}", name, error.what());
  }
}

void CheckElementCount(std::string_view name, const Shape& shape, uint64_t found) {
  if (static_cast<uint64_t>(shape.num_elements()) != found) {
    Fail("input '{}': {} elements for the shape {}, which has {}", name, found, shape.ToString(),
         shape.num_elements());
  }
}

void CheckRowCount(std::string_view what, uint64_t found, int64_t most) {
  if (found <= static_cast<uint64_t>(most)) return;
  throw TooManyRows(
      fmt::format("the request has {} {}; this service takes at most {} in one (option "
                  "--max-rows-per-request): send several requests",
                  found, what, most));
}

void RequestInputs::AddRaw(std::string_view name, std::string_view datatype,
                           std::span<const int64_t> dims, std::string_view bytes) {
  const Shape shape = InputShape(name, dims);
  if (datatype == kBytesDatatype) {
    AddTexts(name, dims, SplitTexts(name, bytes, shape.num_elements()));
    return;
  }
  const DType dtype = ParseDatatype(datatype, name);
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(shape.num_elements()), SizeOf(dtype), &wanted) ||
      wanted != bytes.size()) {
    Fail("input '{}': {} bytes for {}{}, which has {} elements of {}", name, bytes.size(), datatype,
         shape.ToString(), shape.num_elements(), SizeOf(dtype));
  }
  Tensor tensor = Tensor::Allocate(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw_data(), bytes.data(), bytes.size());
  AddTensor(name, std::move(tensor));
}

void RequestInputs::AddTensor(std::string_view name, Tensor tensor) {
  if (tensor.dtype() == DType::kBool) CheckBoolBytes(tensor, fmt::format("input '{}'", name));
  Column column;
  column.name = name;
  column.shape = tensor.shape();
  column.tensor = std::move(tensor);
  columns_.push_back(std::move(column));
}

void RequestInputs::AddTexts(std::string_view name, std::span<const int64_t> dims,
                             std::vector<std::string> texts) {
  Column column;
  column.name = name;
  column.shape = InputShape(name, dims);
  CheckElementCount(name, column.shape, texts.size());
  column.texts = std::move(texts);
  column.is_text = texts_ = true;
  columns_.push_back(std::move(column));
}

void RequestInputs::AddRow(std::string row) {
  rows_.push_back(std::move(row));
  if (rows_.size() % 64 == 0) Breathe();
}

void RequestInputs::CheckTensorRows() const {
  constexpr std::string_view kOffsets = ".offsets";
  std::unordered_set<std::string_view> ragged;
  for (const Column& column : columns_) {
    const std::string_view name = column.name;
    if (name.ends_with(kOffsets)) ragged.insert(name.substr(0, name.size() - kOffsets.size()));
  }
  for (const Column& column : columns_) {
    // Of values that stand one after another, the offsets count the rows: one more than there are.
    if (column.shape.rank() == 0 || ragged.contains(column.name)) continue;
    const int64_t extra = column.name.ends_with(kOffsets) ? 1 : 0;
    CheckRowCount("rows", static_cast<uint64_t>(std::max<int64_t>(0, column.shape[0] - extra)),
                  max_rows_);
  }
}

void RequestInputs::CheckNames() const {
  std::vector<std::string_view> names;
  for (const Column& column : columns_) names.push_back(column.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) Fail("input '{}' is there twice", *twice);
}

void RequestInputs::MoveTo(std::vector<NamedTensor>& inputs, std::vector<std::string>& rows) {
  if (!rows_.empty() && !columns_.empty()) {
    Fail("a request has inputs or rows, not both: {} inputs and {} rows came", columns_.size(),
         rows_.size());
  }
  if (columns_.size() > 1) CheckNames();
  if (columns_.size() == 1 && texts_ && columns_[0].name == "rows") {
    CheckRowCount("rows", columns_[0].texts.size(), max_rows_);
    rows = std::move(columns_[0].texts);
  } else if (texts_) {
    AppendRows(rows);
  } else {
    rows = std::move(rows_);
    inputs.reserve(columns_.size());
    for (Column& column : columns_) {
      inputs.push_back({std::move(column.name), std::move(column.tensor)});
    }
  }
}

// Row i of the columns as a JSON object: a number or text, or an array where a column has more than
// one of them a row. A column with one row belongs to all.
void RequestInputs::AppendRows(std::vector<std::string>& rows) const {
  int64_t count = 1;
  for (const Column& column : columns_) {
    if (column.shape.rank() == 0)
      Fail("input '{}': a column needs a leading dimension", column.name);
    if (column.shape[0] != 1) count = column.shape[0];
  }
  std::vector<std::string> names;
  for (const Column& column : columns_) {
    if (column.shape[0] != 1 && column.shape[0] != count) {
      Fail("input '{}' has {} rows, others have {}", column.name, column.shape[0], count);
    }
    names.emplace_back();
    AppendJsonText(names.back(), column.name);
  }
  CheckRowCount("rows", static_cast<uint64_t>(count), max_rows_);
  size_t bytes = 0;
  for (int64_t row = 0; row < count; ++row) {
    std::string out = "{";
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      const int64_t width =
          column.shape[0] == 0 ? 0 : column.shape.num_elements() / column.shape[0];
      const int64_t begin = column.shape[0] == 1 ? 0 : row * width;
      if (c > 0) out += ',';
      out += names[c];
      out += ':';
      const bool array = width != 1;
      if (array) out += '[';
      for (int64_t i = begin; i < begin + width; ++i) {
        if (i > begin) out += ',';
        if (column.is_text) {
          AppendJsonText(out, column.texts[static_cast<size_t>(i)]);
        } else {
          AppendJsonElement(out, column.tensor, i);
        }
      }
      if (array) out += ']';
    }
    out += '}';
    bytes += out.size();
    if (bytes > kMaxRowsBytes) {
      Fail("{} rows of {} columns are too much for one request", count, columns_.size());
    }
    rows.push_back(std::move(out));
    if (rows.size() % 16 == 0) Breathe();
  }
}

}  // namespace catamaran
