// data/file_list_reader.h
//
// One reader made of the readers of several files, one after another. Files are opened when they
// are reached (all of them when rows are counted or sought by number); all must have the columns of
// the first.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/data/reader.h"

namespace catamaran {

// Makes the reader of one file, before which `skipped_before` bad rows were skipped.
using OpenFile =
    std::function<std::unique_ptr<RowReader>(const std::string& path, int64_t skipped_before)>;

// REQUIRES: there is at least one path.
std::unique_ptr<RowReader> MakeFileListReader(std::vector<std::string> paths, OpenFile open);

}  // namespace catamaran
