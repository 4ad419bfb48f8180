#include "catamaran/data/reader.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/file_list_reader.h"
#include "catamaran/data/files/input_paths.h"

namespace catamaran {

void RowReader::SeekRow(int64_t row) {
  Fail("row {} cannot be sought: this format has no random access; convert the data to records",
       row);
}

void RowReader::ReadPart(int64_t part, RowBlock&) {
  Fail("part {} cannot be read: this format has none", part);
}

Schema ChooseColumns(const Schema& all, const ReaderOptions& options, const std::string& path) {
  if (options.columns.empty()) return all;
  std::vector<std::string> names;
  for (const std::string& name : options.columns) {
    const bool may_lack = std::ranges::count(options.defaults, name, &ColumnDefault::column) > 0;
    if (all.Find(name) >= 0 || !may_lack) names.push_back(name);
  }
  return all.Select(names, path);
}

std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options) {
  return FindFormat(fs, path, options).open(fs, path, options);
}

std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::vector<std::string>& paths,
                                      const ReaderOptions& options) {
  if (paths.empty()) Fail("no files to read");
  std::vector<std::string> files = ExpandPaths(fs, paths);
  ReaderOptions of_file = options;
  if (files.size() > 1 && !options.schema) {
    // What is inferred from the first file holds for all.
    ReaderOptions all_columns = options;
    all_columns.columns.clear();
    const auto first = OpenReader(fs, files[0], all_columns);
    of_file.schema = first->schema();
    for (const std::string& name : first->optional_columns()) {
      of_file.defaults.push_back({.column = name});
    }
  }
  return MakeFileListReader(std::move(files),
                            [&fs, of_file](const std::string& path, int64_t skipped) mutable {
                              of_file.bad_rows.skipped_before = skipped;
                              return OpenReader(fs, path, of_file);
                            });
}

}  // namespace catamaran
