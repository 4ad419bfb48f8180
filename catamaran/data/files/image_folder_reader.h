// data/files/image_folder_reader.h
//
// A folder of images, a class a folder: root/cat/1.png, root/dog/7.jpg, …. The columns are
//
//   image: u8[height, width, channels]    as the first image; one of another size is a bad row
//   label: i64                            the number of the class, in the order of the folders'
//   names file: string                          "cat/1.png"
//
// Rows come class after class, in the order of names. Files with other endings than .png, .jpg and
// .jpeg (in any case), and those that begin with a dot, are not looked at; nor are files beside the
// class folders.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenImageFolder(const FileSystem& fs, const std::string& path,
                                           const ReaderOptions& options);
// For folders.
DataFormat ImageFolderFormat();

}  // namespace catamaran
