// commit/safetensors.h
//
// Files in the safetensors layout: named tensors and a map of strings, the form in which
// checkpoints keep dense state and exchange it with other systems. What we write, other readers
// of the format read, and the other way round. The layout is in README.md beside this file.
//
// Files are not trusted: whatever does not follow the layout exactly is an Error that begins with
// the file's name, and no memory is allocated on a header's word.

#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/tensor/named_tensor.h"

namespace catamaran {

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;  // in the order of the header
  SafetensorsMetadata metadata;

  // Null if there is none of that name.
  const Tensor* Find(std::string_view name) const;
};

// Replaces the file atomically, tensors in the given order: the same input gives the same bytes.
// An Error if two names are equal, or one is "__metadata__" or not UTF-8.
void WriteSafetensors(FileSystem& fs, const std::string& path, std::span<const NamedTensor> tensors,
                      const SafetensorsMetadata& metadata = {});

// Adds the same bytes to the end of `file`, which is empty; the caller syncs and closes it. `path`
// is what errors call it.
void AppendSafetensors(WritableFile& file, const std::string& path,
                       std::span<const NamedTensor> tensors,
                       const SafetensorsMetadata& metadata = {});

// Every tensor gets memory of its own, aligned whatever the file's offsets are.
SafetensorsFile ReadSafetensors(const FileSystem& fs, const std::string& path);

}  // namespace catamaran
