// commit/dense_participant.cc

#include "catamaran/commit/dense_participant.h"

#include <charconv>
#include <cstring>
#include <map>

#include "catamaran/base/error.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/commit_manifest.h"
#include "catamaran/commit/stoppable_files.h"

namespace catamaran {
namespace {

SafetensorsMetadata MetadataOf(const Program& flat, const State& state) {
  SafetensorsMetadata metadata;
  metadata["format"] = "catamaran state";
  metadata["version"] = std::to_string(kCommitFormatVersion);
  metadata["program"] = flat.name;
  metadata["seed"] = std::to_string(state.seed());
  size_t order = 0;
  for (const SavedDecl& decl : DeclarationsOf(flat)) {
    const std::string of = " @" + decl.path;
    metadata["kind" + of] = StateKindName(decl.kind);
    metadata["layout" + of] = decl.layout;
    metadata["declared" + of] = decl.at;
    if (!decl.store.empty()) metadata["store" + of] = decl.store;
    metadata["order" + of] = std::to_string(order++);
  }
  return metadata;
}

const std::string& Field(const SafetensorsMetadata& metadata, const std::string& name,
                         const std::string& path) {
  const auto found = metadata.find(name);
  if (found == metadata.end())
    Fail(ErrorCode::kStorage, "{}: the metadata has no '{}'", path, name);
  return found->second;
}

template <class T>
T NumberField(const SafetensorsMetadata& metadata, const std::string& name,
              const std::string& path) {
  const std::string& text = Field(metadata, name, path);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Fail(ErrorCode::kStorage, "{}: '{}' of the metadata is '{}', not a number", path, name, text);
  }
  return value;
}

StateKind KindNamed(const std::string& name, const std::string& path) {
  for (const StateKind kind : {StateKind::kParam, StateKind::kTable, StateKind::kVar}) {
    if (StateKindName(kind) == name) return kind;
  }
  Fail(ErrorCode::kStorage, "{}: there is no kind of state '{}'", path, name);
}

}  // namespace

DenseParticipant::DenseParticipant(FileSystem& fs, std::string directory, const Program& flat,
                                   State& state)
    : fs_(fs), directory_(std::move(directory)), state_(state), metadata_(MetadataOf(flat, state)) {
  if (State::Fingerprint(flat) != state.fingerprint()) {
    Fail("{}: the state was made from another program than {}", directory_, flat.name);
  }
}

void DenseParticipant::Cut(uint64_t /*commit*/) {
  step_ = state_.step();
  size_t k = 0;
  for (size_t i = 0; i < state_.size(); ++i) {
    const StateInfo info = state_.info(i);
    if (info.kind != StateKind::kParam && info.kind != StateKind::kVar) continue;
    const TensorView head = state_.head(i);
    if (k == spare_.size()) spare_.push_back(Tensor::Allocate(head.dtype, head.shape));
    Tensor copy = std::move(spare_[k++]);
    if (copy.num_bytes() > 0) std::memcpy(copy.mutable_raw_data(), head.data, copy.num_bytes());
    values_.push_back({std::string(info.name), std::move(copy)});
  }
}

CommitPart DenseParticipant::Prepare(uint64_t commit, uint64_t /*oldest_reader*/) {
  const std::string name = DenseFileName(commit);
  const std::string path = JoinPath(directory_, name);
  SafetensorsMetadata metadata = metadata_;
  metadata["step"] = std::to_string(step_);
  const std::atomic<bool> never = false;
  StoppableFiles files(fs_, never);  // the background breathes
  CheckedFile file(files.OpenWrite(path));
  AppendSafetensors(file, path, values_, metadata);
  file.Sync();
  file.Close();
  return {name_, {{name, file.size(), file.crc(), 0, commit}}, {}, {}};
}

void DenseParticipant::End(uint64_t /*commit*/, bool /*kept*/) {
  spare_.clear();
  for (NamedTensor& value : values_) spare_.push_back(std::move(value.tensor));
  values_.clear();
}

DenseSummary ReadDenseSummary(const SafetensorsMetadata& metadata, const std::string& path) {
  if (Field(metadata, "format", path) != "catamaran state")
    Fail(ErrorCode::kStorage, "{}: not a state", path);
  DenseSummary summary;
  summary.program = Field(metadata, "program", path);
  summary.step = NumberField<int64_t>(metadata, "step", path);
  summary.seed = NumberField<uint64_t>(metadata, "seed", path);
  constexpr std::string_view kKind = "kind @";
  std::map<size_t, SavedDecl> by_order;
  for (auto it = metadata.lower_bound(std::string(kKind));
       it != metadata.end() && it->first.starts_with(kKind); ++it) {
    const std::string of = it->first.substr(kKind.size() - 2);  // " @fc1.w"
    const size_t order = NumberField<size_t>(metadata, "order" + of, path);
    by_order[order] = {of.substr(2), KindNamed(it->second, path),
                       Field(metadata, "layout" + of, path),
                       Field(metadata, "declared" + of, path)};
    const auto store = metadata.find("store" + of);
    if (store != metadata.end()) by_order[order].store = store->second;
  }
  for (auto& [order, decl] : by_order) summary.declarations.push_back(std::move(decl));
  return summary;
}

}  // namespace catamaran
