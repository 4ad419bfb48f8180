// data/data_format.h
//
// The formats that OpenReader knows: one entry each in data_format.cc. To add a format, write a
// function that returns its DataFormat and put it on that list.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "catamaran/data/reader.h"

namespace catamaran {

struct DataFormat {
  std::string_view name;
  // Whether a file is of this format, by its path and its first bytes: kSniffBytes, or all where
  // there are fewer. A folder is one of images.
  bool (*matches)(std::string_view path, std::string_view start);
  std::unique_ptr<RowReader> (*open)(const FileSystem& fs, const std::string& path,
                                     const ReaderOptions& options);
};

inline constexpr size_t kSniffBytes = 4096;

// In the order in which they are asked: what is known by its first bytes comes before what is known
// by its name.
std::span<const DataFormat> DataFormats();

// The format of the file: the one that `options.format` names, or the first that matches. An Error
// that lists the formats if there is none.
const DataFormat& FindFormat(const FileSystem& fs, const std::string& path,
                             const ReaderOptions& options);

}  // namespace catamaran
