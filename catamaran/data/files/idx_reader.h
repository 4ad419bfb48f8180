// data/files/idx_reader.h
//
// IDX files, as MNIST comes in: a magic (two zeros, the type, the number of axes), the axes' sizes
// as 32-bit big-endian numbers, and the elements, big-endian. gzip'd or not.
//
// A file of images (more than one axis) has the column image; one of labels the column label.
// Beside a file named …-images-idx3-ubyte the file …-labels-idx1-ubyte, where there is one, gives
// the labels: then both columns are read.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/files/stored_array.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenIdx(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options);

// The array of one file, as the column `name`.
StoredArray OpenIdxArray(const FileSystem& fs, const std::string& path);

DataFormat IdxFormat();

}  // namespace catamaran
