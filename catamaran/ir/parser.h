// ir/parser.h
//
// From the text form of a program (docs/language.md) to a Program as written. Mistakes are
// collected: the parser goes on at the next statement or item, so one run reports up to 20 of
// them, each with its line, the place in it and a suggestion where a name is misspelt.
//
// What the text alone can tell is checked here: syntax, names, arguments, one assignment a
// name, where effects may stand. Types and shapes are Flatten's.
//
// Thread safety: no state is kept between calls.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "catamaran/base/file.h"
#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

struct ParseOptions {
  // The text of an imported file, or nothing when there is no such file. The path is what the
  // program says, taken relative to the directory of the file that imports. Without a loader
  // an import is an error.
  std::function<std::optional<std::string>(const std::string& path)> load_import;
};

// The longest text that is read: 256 MiB.
inline constexpr size_t kMaxProgramText = size_t{1} << 28;
// How deep brackets, calls and blocks may nest, and imports may import.
inline constexpr int kMaxNesting = 200;
inline constexpr int kMaxImportDepth = 32;
inline constexpr int kMaxImports = 1000;

// `file_name` is what errors call the text. Throws a ProgramError with all that was found.
Program Parse(std::string_view text, std::string_view file_name, std::shared_ptr<const OpSet> ops,
              const BuilderSet& builders, const ParseOptions& options = {});

// Imports are read from the same file system. Throws an Error when the file cannot be read.
Program ParseFile(FileSystem& fs, const std::string& path, std::shared_ptr<const OpSet> ops,
                  const BuilderSet& builders);

}  // namespace catamaran
