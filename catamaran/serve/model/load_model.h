// serve/model/load_model.h
//
// From files to a model that can run: the program, its features, its newest state.

#pragma once

#include <memory>
#include <string>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/serve/hosted_model.h"

namespace catamaran {

// The words that programs may use.
struct Vocabulary {
  std::shared_ptr<const OpSet> ops;
  std::shared_ptr<const BuilderSet> builders;
};

// Where the parts of a model that keeps something are, in its own directory.
std::string StateDirectoryOf(const std::string& directory);
std::string LogDirectoryOf(const std::string& directory);

// `directory` is the model's own, or empty: nothing is kept, and none is looked for. The state is
// that of the directory; else the one that the config names; else initial values. Throws an Error
// that names the file if something is missing, wrong, or does not fit together; nothing is written.
HostedModel LoadModel(FileSystem& fs, const Vocabulary& words, const std::string& name,
                      const ModelConfig& config, const std::string& directory);

}  // namespace catamaran
