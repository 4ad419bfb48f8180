#include "catamaran/data/reader.h"

#include "catamaran/base/error.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/file_list_reader.h"

namespace catamaran {

void RowReader::SeekRow(int64_t row) {
  Fail("row {} cannot be sought: this format has no random access; convert the data to records",
       row);
}

std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options) {
  return FindFormat(fs, path, options).open(fs, path, options);
}

std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::vector<std::string>& paths,
                                      const ReaderOptions& options) {
  if (paths.empty()) Fail("no files to read");
  return MakeFileListReader(paths, [&fs, options](const std::string& path, int64_t skipped) {
    ReaderOptions of_file = options;
    of_file.bad_rows.skipped_before = skipped;
    return OpenReader(fs, path, of_file);
  });
}

}  // namespace catamaran
