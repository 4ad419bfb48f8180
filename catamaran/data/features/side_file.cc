#include "catamaran/data/features/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

}  // namespace

SideFile::SideFile(std::string what, RowBlock rows, const std::vector<std::string>& keys)
    : what_(std::move(what)), rows_(std::move(rows)), keys_(keys) {
  if (keys.empty()) Fail("{}: wanted the key columns, as in key=id or key=[a, b]", what_);
  std::vector<int> columns;
  for (const std::string& key : keys) {
    columns.push_back(schema().Index(key, what_));
    const Column& column = schema()[columns.back()];
    if (column.kind != ColumnKind::kString &&
        (column.kind != ColumnKind::kDense || column.shape.rank() > 0)) {
      Fail("{}: the key column '{}' is {}, wanted a single value", what_, key, column.KindText());
    }
  }
  hash_ = HashString(schema().ToString());
  std::string key;
  by_key_.reserve(static_cast<size_t>(rows_.rows()));
  for (int64_t r = 0; r < rows_.rows(); ++r) {
    key.clear();
    for (const int column : columns) AppendKey(schema()[column], rows_[column], r, key);
    if (!by_key_.try_emplace(key, r).second) {
      std::string shown = key.substr(0, key.size() - 1);
      std::ranges::replace(shown, kKeyEnd, ',');
      Fail("{}: two rows have the key {}: rows {} and {}", what_, shown, by_key_[key] + 1, r + 1);
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
  return {{ValueKind::kInteger, {}}, [this, types](const FeatureArgs& args, FeatureValues& out) {
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
                      const FeatureSideFile& declared, const std::vector<std::string>& folders) {
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
  const auto reader = OpenReader(fs, path, settings.options);
  RowBlock all(reader->schema());
  RowBlock block;
  while (reader->Read(4096, block)) all.AppendRows(block, 0, block.rows());
  try {
    return SideFile(path, std::move(all), settings.key);
  } catch (const Error& error) {
    FailAt(source, declared.place, error.what());
  }
}

}  // namespace catamaran
