// commit/dense_participant.h
//
// Params and vars in a commit: one safetensors file, which other tools read too. Its metadata holds
// the program's name, step, seed and declarations. docs/formats/state.md has the keys.

#pragma once

#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/participant.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/commit/state_match.h"
#include "catamaran/exec/state.h"

namespace catamaran {

inline constexpr std::string_view kDensePart = "dense";

class DenseParticipant final : public CommitParticipant {
 public:
  // `flat` is looked at now; `fs` and `state` outlive this.
  DenseParticipant(FileSystem& fs, std::string directory, const Program& flat, State& state);

  const std::string& name() const override { return name_; }
  // Copies the values: the only work that is done with the turn.
  void Cut(uint64_t commit) override;
  CommitPart Prepare(uint64_t commit, uint64_t oldest_reader) override;
  void End(uint64_t commit, bool kept) override;

 private:
  FileSystem& fs_;
  const std::string directory_;
  State& state_;
  const std::string name_{kDensePart};
  SafetensorsMetadata metadata_;  // but for the step
  std::vector<NamedTensor> values_;
  std::vector<Tensor> spare_;  // memory of the commit before, used again
  int64_t step_ = 0;
};

// What the metadata of such a file says.
struct DenseSummary {
  std::string program;
  int64_t step = 0;
  uint64_t seed = 0;
  std::vector<SavedDecl> declarations;
};
// An Error that begins with `path` if something is missing or not a number.
DenseSummary ReadDenseSummary(const SafetensorsMetadata& metadata, const std::string& path);

}  // namespace catamaran
