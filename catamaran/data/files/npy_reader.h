// data/files/npy_reader.h
//
// NumPy's .npy and .npz files as rows along the first axis. A .npy has one column, x; a .npz one
// for each array, under its name. The rows of an array in Fortran order with more than one
// axis do not lie together: it is read whole when it is opened, and stays in memory.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/files/stored_array.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenNpy(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options);

// Only the arrays that options.columns names are looked at, where it names some.
std::unique_ptr<RowReader> OpenNpz(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options);

// An .npy file's array, from its first byte on, as the column `name`.
StoredArray OpenNpyArray(std::unique_ptr<ByteStream> stream, std::string name);

DataFormat NpyFormat();
DataFormat NpzFormat();

}  // namespace catamaran
