// cli/npy_values.h
//
// Arguments and results of a run as .npy files on the command line:
//
//   --feed x=a.npy            a tensor
//   --feed x=v.npy,o.npy      a ragged one: values and offsets
//   --fetch y=b.npy           the same ways for results

#pragma once

#include <span>
#include <string>
#include <vector>

#include "catamaran/exec/executable.h"
#include "cli/session.h"

namespace catamaran::cli {

// NAME=FILE or NAME=FILE,FILE.
struct FileArgument {
  std::string name;
  std::string values;
  std::string offsets;  // empty: none
};
std::vector<FileArgument> ParseFileArguments(const std::vector<std::string>& texts,
                                             const std::string& option);

// A value and what it was read from. Feeds are borrowed from these.
struct FedValue {
  Tensor values;
  Tensor offsets;  // i64; empty: none
};

// Reads those arguments of `executable` that `feeds` name, in its order; `given` says which. Throws
// an Error when one is given twice or is not an argument.
std::vector<FedValue> ReadGivenFeeds(const FileSystem& fs, const Executable& executable,
                                     const std::vector<FileArgument>& feeds,
                                     std::vector<bool>& given);

// A value to feed, borrowed.
FeedValue FeedOf(const FedValue& value);

// Reads the arguments of `executable`, in its order. Throws an Error when one is missing, given
// twice, or not an argument.
std::vector<FedValue> ReadFeeds(const FileSystem& fs, const Executable& executable,
                                const std::vector<FileArgument>& feeds);

// The name of result i: what the program calls it, or out0, out1, ….
std::string ResultName(const Executable& executable, size_t i);

// The result that is called so; an Error with a suggestion if there is none.
size_t ResultIndex(const Executable& executable, const std::string& name);

// Writes result `i`; bf16, which the format has no name for, as f32.
void WriteFetch(FileSystem& fs, const RunResult& result, size_t i, const FileArgument& fetch);

}  // namespace catamaran::cli
