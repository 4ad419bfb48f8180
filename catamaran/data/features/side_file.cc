#include "catamaran/data/features/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/features/canonical_text.h"
#include "catamaran/data/features/data_settings.h"
#include "catamaran/data/reader.h"

namespace catamaran {
namespace {

// The canonical text of one value of a column that is no list.
void AppendKey(const Column& column, const ColumnBlock& block, int64_t row, std::string& key) {
  char room[kCanonicalBytes];
  const auto i = static_cast<size_t>(row);
  if (column.kind == ColumnKind::kString) {
    key += block.text(row);
  } else if (column.dtype == DType::kF32) {
    key += CanonicalText(static_cast<double>(block.floats[i]), room);
  } else {
    const int64_t value = column.dtype == DType::kI64 ? block.ints[i] : block.bytes[i];
    key += CanonicalText(value, room);
  }
  key += SideFile::kKeyEnd;
}

std::vector<int> KeyColumns(const Schema& schema, const std::vector<std::string>& keys,
                            const std::string& what) {
  if (keys.empty()) Fail("{}: wanted the key columns, as in key=id or key=[a, b]", what);
  std::vector<int> columns;
  for (const std::string& key : keys) {
    columns.push_back(schema.Index(key, what));
    const Column& column = schema[columns.back()];
    if (column.kind != ColumnKind::kString &&
        (column.kind != ColumnKind::kDense || column.shape.rank() > 0)) {
      Fail("{}: the key column '{}' is {}, wanted a single value", what, key, column.KindText());
    }
  }
  return columns;
}

void KeyOf(const RowBlock& rows, const std::vector<int>& columns, int64_t row, std::string& key) {
  key.clear();
  for (const int column : columns) AppendKey(rows.schema()[column], rows[column], row, key);
}

// Of rows with equal keys the first.
RowBlock WithoutRepeated(RowBlock rows, const std::vector<int>& columns) {
  RowBlock kept(rows.schema());
  std::unordered_set<std::string> seen;
  std::string key;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    KeyOf(rows, columns, r, key);
    if (seen.insert(key).second) kept.AppendRows(rows, r, r + 1);
  }
  return kept;
}

}  // namespace

SideFile::SideFile(std::string what, RowBlock rows, const std::vector<std::string>& keys)
    : what_(std::move(what)), rows_(std::move(rows)), keys_(keys) {
  const std::vector<int> columns = KeyColumns(schema(), keys, what_);
  hash_ = HashString(schema().ToString());
  std::string key;
  by_key_.reserve(static_cast<size_t>(rows_.rows()));
  for (int64_t r = 0; r < rows_.rows(); ++r) {
    KeyOf(rows_, columns, r, key);
    if (!by_key_.try_emplace(key, r).second) {
      std::string shown = key.substr(0, key.size() - 1);
      std::ranges::replace(shown, kKeyEnd, ',');
      Fail(ErrorCode::kBadData, "{}: two rows have the key {}: rows {} and {}", what_, shown,
           by_key_[key] + 1, r + 1);
    }
    key.clear();
    for (int c = 0; c < schema().size(); ++c) {
      if (schema()[c].kind == ColumnKind::kDense || schema()[c].kind == ColumnKind::kString) {
        AppendKey(schema()[c], rows_[c], r, key);
      }
    }
    hash_ = HashString(key, hash_);
  }
}

FeatureKernel SideFile::RowKernel(const std::vector<ValueType>& types) const {
  return {{ValueKind::kInteger, {}},
          [this, types](const FeatureArgs& args, FeatureValues& out) {
            char room[kCanonicalBytes];
            std::string key;  // one for all rows
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              key.clear();
              for (size_t i = 0; i < types.size(); ++i) {
                const FeatureValues& value = args[i];
                key += types[i].kind == ValueKind::kText     ? value.texts[r]
                       : types[i].kind == ValueKind::kNumber ? CanonicalText(value.numbers[r], room)
                                                             : CanonicalText(value.ints[r], room);
                key += kKeyEnd;
              }
              const auto found = by_key_.find(key);
              out.ints.push_back(found == by_key_.end() ? -1 : found->second);
            }
          },
          [types](const FeatureArgs& args, const FeatureValues& out, std::span<uint8_t> marks) {
            for (size_t r = 0; r < marks.size(); ++r) {
              bool there = true;
              for (size_t i = 0; i < types.size(); ++i) {
                if (types[i].kind == ValueKind::kText) there = there && !args[i].texts[r].empty();
                if (types[i].kind == ValueKind::kNumber) {
                  there = there && !std::isnan(args[i].numbers[r]);
                }
              }
              if (there && out.ints[r] < 0) marks[r] = 1;
            }
          }};
}

FeatureKernel SideFile::ColumnKernel(int column) const {
  const Column& of = schema()[column];
  const ColumnBlock* const block = &rows_[column];
  if (of.kind == ColumnKind::kString) {
    return {{ValueKind::kText, {}}, [block](const FeatureArgs& args, FeatureValues& out) {
              for (const int64_t row : args[0].ints) {
                out.texts.push_back(row < 0 ? std::string_view() : block->text(row));
              }
            }};
  }
  if (of.kind != ColumnKind::kDense || of.shape.rank() > 0) {
    Fail("{}: column '{}' is {}, wanted a number or a string", what_, of.name, of.KindText());
  }
  return {{ValueKind::kNumber, {}},
          [block, dtype = of.dtype](const FeatureArgs& args, FeatureValues& out) {
            for (const int64_t row : args[0].ints) {
              const auto i = static_cast<size_t>(row);
              out.numbers.push_back(row < 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : dtype == DType::kF32 ? static_cast<double>(block->floats[i])
                                    : dtype == DType::kI64 ? static_cast<double>(block->ints[i])
                                                           : static_cast<double>(block->bytes[i]));
            }
          }};
}

SideFile ReadSideFile(const FileSystem& fs, const FeatureSource& source,
                      const FeatureSideFile& declared,
                      const std::vector<std::pair<std::string, std::string>>& columns,
                      const std::vector<std::string>& folders) {
  std::string path;
  for (const std::string& folder : folders) {
    const std::string there =
        declared.path.starts_with('/') ? declared.path : JoinPath(folder, declared.path);
    if (path.empty() && fs.Exists(there)) path = there;
  }
  if (path.empty()) {
    FailAt(source, declared.place,
           fmt::format("there is no file '{}' in {}", declared.path, fmt::join(folders, ", ")));
  }
  DataSettings settings = ReadDataSettings(source, declared.settings, DataLine::kSideFile);
  if (settings.options.format.empty() && !path.ends_with(".rec")) {
    try {
      FindFormat(fs, path, settings.options);
    } catch (const Error&) {
      settings.options.format = "csv";  // what such files are, whatever their name
    }
  }
  // Only what is used, in the order of the file. Names that it does not have are for the binder,
  // which knows where they stand.
  auto reader = OpenReader(fs, path, settings.options);
  const Schema& there = reader->schema();
  std::vector<char> wanted(static_cast<size_t>(there.size()));
  bool all_there = true;  // else the binder proposes names from the whole file
  const auto want = [&](int first, int last) {
    all_there = all_there && first >= 0 && last >= 0;
    for (int c = first; first >= 0 && c <= last; ++c) wanted[static_cast<size_t>(c)] = 1;
  };
  for (const std::string& key : settings.key) want(there.Find(key), there.Find(key));
  for (const auto& [first, last] : columns) want(there.Find(first), there.Find(last));
  for (int c = 0; c < there.size(); ++c) {
    if (all_there && wanted[static_cast<size_t>(c)] != 0)
      settings.options.columns.push_back(there[c].name);
  }
  if (!settings.options.columns.empty()) reader = OpenReader(fs, path, settings.options);
  RowBlock all(reader->schema());
  RowBlock block;
  while (reader->Read(4096, block)) all.AppendRows(block, 0, block.rows());
  try {
    if (settings.repeated_first) {
      const std::vector<int> keys = KeyColumns(all.schema(), settings.key, path);
      all = WithoutRepeated(std::move(all), keys);
    }
    return SideFile(path, std::move(all), settings.key);
  } catch (const Error& error) {
    FailAt(source, declared.place, error.what());
  }
}

}  // namespace catamaran
