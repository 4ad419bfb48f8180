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

// Saved rows of a model that learns are not read when it is loaded, so damage in them may be found
// later. Whoever finds it notes it: then the next load verifies every byte, and passes over commits
// that are not whole. A commit that was made after that says that the damage is passed.
void NoteDamage(FileSystem& fs, const std::string& directory, const std::string& what) noexcept;
bool DamageIsNoted(const FileSystem& fs, const std::string& directory);
void DamageIsPassed(FileSystem& fs, const std::string& directory) noexcept;

// `directory` is the model's own, or empty: nothing is kept, and none is looked for. The state is
// that of the directory; else the one that the config names; else initial values. Throws an Error
// that names the file if something is missing, wrong, or does not fit together; nothing is written.
// Rows of a model that learns, from its own directory, lie in mapped files still: all keys resolve,
// and a RowMover (commit/row_mover.h) brings them into memory.
HostedModel LoadModel(FileSystem& fs, const Vocabulary& words, const std::string& name,
                      const ModelConfig& config, const std::string& directory);

// The state that a model of this program and directory begins with, into `state` and `loaded`.
void LoadStateOf(HostedModel& model);

// The message of an Error of LoadModel for somebody who may name files of this machine, but not
// read them: where it shows lines of a file that is neither a program nor called *.features, it
// says only that.
std::string WithoutForeignLines(const FileSystem& fs, const std::string& message);

// As LoadModel, but for the state: an Error if the files are wrong.
void CheckModel(FileSystem& fs, const Vocabulary& words, const std::string& name,
                const ModelConfig& config);

}  // namespace catamaran
