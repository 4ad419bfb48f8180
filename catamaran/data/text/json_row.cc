#include "catamaran/data/text/json_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "catamaran/base/suggest.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

// Describes a value for a message.
std::string Found(const JsonNode& node) {
  if (node.kind == JsonKind::kNumber || node.kind == JsonKind::kString) {
    return fmt::format("{} {}", Describe(node.kind), Shown(node.text));
  }
  return std::string(Describe(node.kind));
}

// A dense column's number as text that the parsers know.
std::string_view NumberText(const JsonNode& node) {
  if (node.kind == JsonKind::kTrue) return "1";
  if (node.kind == JsonKind::kFalse) return "0";
  return node.kind == JsonKind::kNumber ? node.text : std::string_view();
}

}  // namespace

JsonRow::JsonRow(Schema schema, std::optional<int64_t> missing_integer, JsonRowRules rules)
    : schema_(std::move(schema)), missing_integer_(missing_integer), rules_(std::move(rules)) {
  names_.emplace_back();
  for (int c = 0; c < schema_.size(); ++c) AddName(schema_[c].name).column = c;
  for (const std::string& name : rules_.known) AddName(name).known = true;
  seen_.resize(static_cast<size_t>(schema_.size()));
  defaults_.resize(seen_.size(), -1);
  for (size_t i = 0; i < rules_.defaults.size(); ++i) {
    const int column = schema_.Find(rules_.defaults[i].column);
    if (column >= 0) defaults_[static_cast<size_t>(column)] = static_cast<int>(i);
  }
}

JsonRow::Name& JsonRow::AddName(std::string_view rest) {
  size_t at = 0;
  for (;;) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const Name* found = nullptr;
    for (const size_t inner : names_[at].inner) {
      if (names_[inner].part == part) found = &names_[inner];
    }
    if (found == nullptr) {
      names_[at].inner.push_back(names_.size());
      names_.push_back({.part = std::string(part)});
      found = &names_.back();
    }
    at = static_cast<size_t>(found - names_.data());
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return names_[at];
}

// A name in the text may have dots itself.
const JsonRow::Name* JsonRow::Find(const Name& outer, std::string_view part) const {
  for (const size_t inner : outer.inner) {
    const Name& name = names_[inner];
    if (name.part == part) return &name;
    if (part.size() > name.part.size() && part[name.part.size()] == '.' &&
        part.starts_with(name.part)) {
      const Name* found = Find(name, part.substr(name.part.size() + 1));
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

std::string JsonRow::Append(std::string_view text, RowBlock& block) {
  if (!own_.Parse(text)) {
    return fmt::format("is no JSON: byte {}: {}", own_.error_offset() + 1, own_.error());
  }
  return Append(own_, 0, block);
}

std::string JsonRow::Append(const JsonDocument& document, size_t object, RowBlock& block) {
  document_ = &document;
  const JsonNode& found = document.nodes()[object];
  if (found.kind != JsonKind::kObject) {
    return fmt::format("found {}, wanted an object", Found(found));
  }
  std::ranges::fill(seen_, char{0});
  incomplete_ = false;
  unknown_.clear();
  if (!AppendObject(object, names_[0], "", block)) return problem_;
  for (int c = 0; c < schema_.size(); ++c) {
    if (seen_[static_cast<size_t>(c)] == 0 && !AppendDefault(c, block[c])) return problem_;
  }
  return "";
}

bool JsonRow::AppendObject(size_t object, const Name& outer, const std::string& prefix,
                           RowBlock& block) {
  const auto& nodes = document_->nodes();
  for (size_t i = object + 1; i < nodes[object].end;) {
    const std::string_view key = nodes[i].text;
    const size_t value = i + 1;
    i = nodes[value].end;
    const Name* name = Find(outer, key);
    const bool opens =
        name != nullptr && !name->inner.empty() && nodes[value].kind == JsonKind::kObject;
    if (name == nullptr || (name->column < 0 && !name->known && !opens)) {
      if (!CheckMember(prefix, key)) return false;
      continue;
    }
    if (name->column >= 0) {
      char& seen = seen_[static_cast<size_t>(name->column)];
      if (std::exchange(seen, char{1}) != 0) {
        problem_ = fmt::format("column '{}': the name stands twice", schema_[name->column].name);
        return false;
      }
      if (!AppendValue(value, name->column, block[name->column])) return false;
    }
    if (!opens) continue;
    const std::string inside =
        rules_.need_columns || rules_.refuse_unknown ? fmt::format("{}{}.", prefix, key) : "";
    if (!AppendObject(value, *name, inside, block)) return false;
  }
  return true;
}

// A member that no column takes.
bool JsonRow::CheckMember(std::string_view outer, std::string_view key) {
  if (!rules_.need_columns && !rules_.refuse_unknown) return true;
  unknown_.push_back(fmt::format("{}{}", outer, key));
  if (!rules_.refuse_unknown || rules_.lenient) return true;
  std::vector<std::string_view> names;
  for (const Column& column : schema_) names.push_back(column.name);
  std::vector<std::string_view> allowed = names;
  allowed.insert(allowed.end(), rules_.known.begin(), rules_.known.end());
  const std::string near = Suggest(unknown_.back(), allowed);
  constexpr size_t kMost = 20;
  const size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  problem_ =
      fmt::format("there is no column '{}'; {}", unknown_.back(),
                  near.empty() ? fmt::format("the columns are {}{}", fmt::join(names, ", "),
                                             more > 0 ? fmt::format(" and {} more", more) : "")
                               : fmt::format("did you mean '{}'?", near));
  return false;
}

// A column that no member fills.
bool JsonRow::AppendDefault(int c, ColumnBlock& block) {
  const Column& column = schema_[c];
  const int found = defaults_[static_cast<size_t>(c)];
  const ColumnDefault* const given =
      found < 0 ? nullptr : &rules_.defaults[static_cast<size_t>(found)];
  if (given == nullptr && rules_.need_columns) {
    incomplete_ = true;
    if (!rules_.lenient) {
      const std::vector<std::string_view> there(unknown_.begin(), unknown_.end());
      const std::string near = Suggest(column.name, there);
      problem_ = fmt::format("the column '{}' ({}) is missing{}", column.name, column.KindText(),
                             near.empty() ? "" : fmt::format("; did you mean it by '{}'?", near));
      return false;
    }
  }
  if (given != nullptr && given->text && column.kind == ColumnKind::kString) {
    const std::string& text = *given->text;
    block.bytes.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    block.EndList();
    return true;
  }
  if (given == nullptr || !given->number || column.kind != ColumnKind::kDense) {
    return AppendMissing(column, block);
  }
  const auto count = static_cast<size_t>(column.width());
  if (column.dtype == DType::kF32) {
    std::fill_n(block.floats.Extend(count), count, static_cast<float>(*given->number));
  } else if (column.dtype == DType::kI64) {
    std::fill_n(block.ints.Extend(count), count, static_cast<int64_t>(*given->number));
  } else {
    std::fill_n(block.bytes.Extend(count), count, static_cast<uint8_t>(*given->number));
  }
  return true;
}

bool JsonRow::AppendValue(size_t value, int column, ColumnBlock& block) {
  const JsonNode& node = document_->nodes()[value];
  const Column& of = schema_[column];
  if (node.kind == JsonKind::kNull) return AppendMissing(of, block);
  switch (of.kind) {
    case ColumnKind::kDense:
      if (of.shape.rank() == 0) return AppendNumber(value, of, block);
      return AppendDense(value, of, 0, block);
    case ColumnKind::kIds:
      return AppendIds(value, of, block);
    case ColumnKind::kWeightedIds:
      return AppendWeightedIds(value, of, block);
    case ColumnKind::kString:
      block.bytes.Append({reinterpret_cast<const uint8_t*>(node.text.data()), node.text.size()});
      block.EndList();
      return true;
  }
  return false;
}

bool JsonRow::AppendDense(size_t value, const Column& column, int axis, ColumnBlock& block) {
  const auto& nodes = document_->nodes();
  const JsonNode& array = nodes[value];
  if (array.kind != JsonKind::kArray) return Bad(column, value, "an array of numbers");
  const bool flat = axis == 0 && column.shape.rank() > 1 && array.count > 0 &&
                    nodes[value + 1].kind != JsonKind::kArray;
  const int64_t wanted = flat ? column.width() : column.shape[axis];
  if (array.count != wanted) {
    problem_ = fmt::format("column '{}': found an array of {}, wanted {} ({})", column.name,
                           array.count, wanted, column.KindText());
    return false;
  }
  const bool innermost = flat || axis + 1 == column.shape.rank();
  for (size_t i = value + 1; i < array.end; i = nodes[i].end) {
    const bool good =
        innermost ? AppendNumber(i, column, block) : AppendDense(i, column, axis + 1, block);
    if (!good) return false;
  }
  return true;
}

bool JsonRow::AppendNumber(size_t value, const Column& column, ColumnBlock& block) {
  const JsonNode& node = document_->nodes()[value];
  const std::string_view text = NumberText(node);
  if (column.dtype == DType::kF32) {
    float number = std::numeric_limits<float>::quiet_NaN();
    if (node.kind != JsonKind::kNull && !ParseF32(text, &number)) {
      return Bad(column, value, "a number");
    }
    block.floats.push_back(number);
  } else if (column.dtype == DType::kI64) {
    int64_t number = 0;
    if (!ParseI64(text, &number)) return Bad(column, value, "a whole number (i64)");
    block.ints.push_back(number);
  } else {
    uint8_t number = 0;
    if (!ParseU8(text, &number)) return Bad(column, value, "a whole number from 0 to 255 (u8)");
    block.bytes.push_back(number);
  }
  return true;
}

bool JsonRow::Id(size_t value, int64_t* id) const {
  const JsonNode& node = document_->nodes()[value];
  return node.kind == JsonKind::kNumber && ParseI64(node.text, id);
}

bool JsonRow::AppendIds(size_t value, const Column& column, ColumnBlock& block) {
  const auto& nodes = document_->nodes();
  const bool array = nodes[value].kind == JsonKind::kArray;
  const size_t end = array ? nodes[value].end : value + 1;
  for (size_t i = array ? value + 1 : value; i < end; i = nodes[i].end) {
    int64_t id = 0;
    if (!Id(i, &id)) return Bad(column, i, "an id: a whole number (i64)");
    block.ints.push_back(id);
  }
  block.EndList();
  return true;
}

bool JsonRow::AppendWeightedIds(size_t value, const Column& column, ColumnBlock& block) {
  const auto& nodes = document_->nodes();
  const JsonNode& list = nodes[value];
  const bool object = list.kind == JsonKind::kObject;
  if (!object && list.kind != JsonKind::kArray) {
    return Bad(column, value, "an array of [id, weight]");
  }
  for (size_t i = value + 1; i < list.end; i = nodes[i].end) {
    int64_t id = 0;
    float weight = 1;
    bool good = false;
    if (object) {
      good = ParseI64(nodes[i].text, &id) && ParseF32(NumberText(nodes[i + 1]), &weight);
    } else if (nodes[i].kind == JsonKind::kArray) {
      good = nodes[i].count == 2 && Id(i + 1, &id) &&
             ParseF32(NumberText(nodes[nodes[i + 1].end]), &weight);
    } else {
      good = Id(i, &id);
    }
    if (!good) return Bad(column, i, "an id with its weight");
    if (object) ++i;
    block.ints.push_back(id);
    block.floats.push_back(weight);
  }
  block.EndList();
  return true;
}

bool JsonRow::AppendMissing(const Column& column, ColumnBlock& block) {
  if (column.has_offsets()) {
    block.EndList();
    return true;
  }
  const auto count = static_cast<size_t>(column.width());
  if (column.dtype == DType::kF32) {
    std::fill_n(block.floats.Extend(count), count, std::numeric_limits<float>::quiet_NaN());
    return true;
  }
  const bool fits = missing_integer_ && (column.dtype == DType::kI64 ||
                                         (*missing_integer_ >= 0 && *missing_integer_ <= 255));
  if (!fits) {
    problem_ = fmt::format("column '{}': found nothing, wanted {}", column.name, column.KindText());
    return false;
  }
  if (column.dtype == DType::kI64) {
    std::fill_n(block.ints.Extend(count), count, *missing_integer_);
  } else {
    std::fill_n(block.bytes.Extend(count), count, static_cast<uint8_t>(*missing_integer_));
  }
  return true;
}

bool JsonRow::Bad(const Column& column, size_t value, std::string_view wanted) {
  problem_ = fmt::format("column '{}': found {}, wanted {}", column.name,
                         Found(document_->nodes()[value]), wanted);
  return false;
}

}  // namespace catamaran
