// cli/output_file.h
//
// A file that a command writes: it is there whole when all went well, and else what was there
// before stays. It is written beside its place, under the name with ".tmp" at its end.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "catamaran/base/file.h"

namespace catamaran::cli {

class OutputFile {
 public:
  // Errors are those of the environment, here and in all methods.
  OutputFile(FileSystem& fs, std::string path);
  // For files that others write: to temporary_path(), which is not made.
  struct WrittenByOthers {};
  OutputFile(FileSystem& fs, std::string path, WrittenByOthers);
  // Removes what was written, unless Keep was called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Append(std::string_view bytes);
  // Syncs it and gives it its name, durably.
  void Keep();

  const std::string& path() const { return path_; }
  const std::string& temporary_path() const { return temporary_; }

 private:
  void Flush();

  FileSystem& fs_;
  const std::string path_;
  const std::string temporary_;
  std::unique_ptr<WritableFile> file_;
  std::string buffer_;
  bool kept_ = false;
};

}  // namespace catamaran::cli
