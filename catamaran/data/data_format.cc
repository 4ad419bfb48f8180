#include "catamaran/data/data_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/data/files/idx_reader.h"
#include "catamaran/data/files/image_folder_reader.h"
#include "catamaran/data/files/npy_reader.h"
#include "catamaran/data/records/record_reader.h"
#include "catamaran/data/text/csv_reader.h"
#include "catamaran/data/text/json_reader.h"
#include "catamaran/data/text/libsvm_reader.h"
#include "catamaran/data/text/lines_reader.h"

namespace catamaran {
namespace {

std::string ReadStart(const FileSystem& fs, const std::string& path) {
  const auto file = fs.OpenRead(path);
  std::string start(std::min<uint64_t>(file->size(), kSniffBytes), '\0');
  file->ReadExactly(0, std::as_writable_bytes(std::span(start)));
  return start;
}

}  // namespace

std::span<const DataFormat> DataFormats() {
  static const std::vector<DataFormat> formats = {
      RecordsFormat(),     NpyFormat(),    NpzFormat(),    IdxFormat(),
      ImageFolderFormat(), CsvFormat(),    TsvFormat(),    CriteoFormat(),
      JsonLinesFormat(),   LibsvmFormat(), LibffmFormat(), TextFormat(),
  };
  return formats;
}

const DataFormat& FindFormat(const FileSystem& fs, const std::string& path,
                             const ReaderOptions& options) {
  const auto formats = DataFormats();
  std::vector<std::string_view> names;
  for (const DataFormat& format : formats) names.push_back(format.name);
  if (!options.format.empty()) {
    const auto named = std::ranges::find(formats, options.format, &DataFormat::name);
    if (named != formats.end()) return *named;
    const std::string near = Suggest(options.format, names);
    Fail("{}: there is no format '{}'; {}", path, options.format,
         near.empty() ? fmt::format("the formats are {}", fmt::join(names, ", "))
                      : fmt::format("did you mean '{}'?", near));
  }
  if (fs.IsDirectory(path)) return *std::ranges::find(formats, "images", &DataFormat::name);
  const std::string start = ReadStart(fs, path);
  for (const DataFormat& format : formats) {
    if (format.matches(path, start)) return format;
  }
  Fail("{}: cannot tell its format by its name or first bytes; name one of {}", path,
       fmt::join(names, ", "));
}

}  // namespace catamaran
