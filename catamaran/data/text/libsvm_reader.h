// data/text/libsvm_reader.h
//
// libsvm's files: "label index:value index:value …" on each line, in any order; "label qid:7 …"
// too, where rows belong to queries. What follows a # is a comment. The columns are
//
//   label: f32                 1.5, or -1 or +1
//   features: weighted_ids     the indices, less TextOptions::first_index, and their values
//   qid: i64                   if the first row has one; then all must
//
// libffm's: "label field:index:value …". The columns are label, `features` as above, and
//
//   fields: ids                the field of each of the features, in the same order
//
// An index without a value has the value 1.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenLibsvm(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options);
std::unique_ptr<RowReader> OpenLibffm(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options);

DataFormat LibsvmFormat();
DataFormat LibffmFormat();

}  // namespace catamaran
