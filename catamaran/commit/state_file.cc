// commit/state_file.cc

#include "catamaran/commit/state_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/commit/state_manifest.h"

namespace catamaran {
namespace {

constexpr std::string_view kDensePrefix = "dense-";
constexpr std::string_view kTablesPrefix = "tables-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kLockName = "LOCK";
constexpr size_t kMaxManifestBytes = 1 << 16;
constexpr char kTableSeparator = '/';  // between a table's path and the name of its tensor

std::string FileName(std::string_view prefix, uint64_t generation) {
  return fmt::format("{}{}{}", prefix, generation, kSuffix);
}

// The generation of a data file's name, or 0.
uint64_t GenerationOf(std::string_view name) {
  if (name.starts_with(kDensePrefix)) {
    name.remove_prefix(kDensePrefix.size());
  } else if (name.starts_with(kTablesPrefix)) {
    name.remove_prefix(kTablesPrefix.size());
  } else {
    return 0;
  }
  uint64_t generation = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), generation);
  if (error != std::errc() || std::string_view(end, name.data() + name.size()) != kSuffix) return 0;
  return generation;
}

// Passes everything on and keeps size and checksum.
class CheckedFile final : public WritableFile {
 public:
  explicit CheckedFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  using WritableFile::Append;
  void Append(std::span<const std::byte> bytes) override {
    file_->Append(bytes);
    size_ += bytes.size();
    crc_ = Crc32c(bytes, crc_);
  }
  void Sync() override { file_->Sync(); }
  void Close() override { file_->Close(); }
  uint64_t size() const { return size_; }
  uint32_t crc() const { return crc_; }

 private:
  const std::unique_ptr<WritableFile> file_;
  uint64_t size_ = 0;
  uint32_t crc_ = 0;
};

StateManifest::File WriteDataFile(FileSystem& fs, const std::string& directory,
                                  const std::string& name, const std::vector<NamedTensor>& tensors,
                                  const SafetensorsMetadata& metadata) {
  const std::string path = JoinPath(directory, name);
  CheckedFile file(fs.OpenWrite(path));
  AppendSafetensors(file, path, tensors, metadata);
  file.Sync();
  file.Close();
  return {name, file.size(), file.crc()};
}

// Everything that is saved, copied between two steps.
struct Snapshot {
  std::vector<NamedTensor> dense, rows;
  int64_t step = 0;
  bool has_tables = false;
};

Snapshot TakeSnapshot(State& state) {
  Snapshot snapshot;
  state.TakeTurn();
  try {
    snapshot.step = state.step();
    for (size_t i = 0; i < state.size(); ++i) {
      const StateInfo info = state.info(i);
      const std::string path(info.name);
      if (info.kind == StateKind::kTable) {
        snapshot.has_tables = true;
        for (auto& [name, tensor] : state.table(path).Export()) {
          snapshot.rows.push_back({path + kTableSeparator + name, std::move(tensor)});
        }
      } else if (info.kind != StateKind::kChannel) {
        const TensorView head = state.head(i);
        Tensor copy = Tensor::Allocate(head.dtype, head.shape);
        if (copy.num_bytes() > 0) {
          std::memcpy(copy.mutable_raw_data(), head.data, copy.num_bytes());
        }
        snapshot.dense.push_back({path, std::move(copy)});
      }
    }
  } catch (...) {
    state.GiveTurn();
    throw;
  }
  state.GiveTurn();
  return snapshot;
}

SafetensorsMetadata MetadataOf(const Program& flat, const State& state, int64_t step) {
  SafetensorsMetadata metadata;
  metadata["format"] = "catamaran state";
  metadata["version"] = std::to_string(kStateFormatVersion);
  metadata["program"] = flat.name;
  metadata["step"] = std::to_string(step);
  metadata["seed"] = std::to_string(state.seed());
  size_t order = 0;
  for (const SavedDecl& decl : DeclarationsOf(flat)) {
    const std::string of = " @" + decl.path;
    metadata["kind" + of] = StateKindName(decl.kind);
    metadata["layout" + of] = decl.layout;
    metadata["declared" + of] = decl.at;
    metadata["order" + of] = std::to_string(order++);
  }
  return metadata;
}

const std::string& Field(const SafetensorsMetadata& metadata, const std::string& name,
                         const std::string& path) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) Fail("{}: the metadata has no '{}'", path, name);
  return found->second;
}

template <class T>
T NumberField(const SafetensorsMetadata& metadata, const std::string& name,
              const std::string& path) {
  const std::string& text = Field(metadata, name, path);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Fail("{}: '{}' of the metadata is '{}', not a number", path, name, text);
  }
  return value;
}

StateKind KindNamed(const std::string& name, const std::string& path) {
  for (const StateKind kind : {StateKind::kParam, StateKind::kTable, StateKind::kVar}) {
    if (StateKindName(kind) == name) return kind;
  }
  Fail("{}: there is no kind of state '{}'", path, name);
}

StateSummary SummaryOf(const SafetensorsMetadata& metadata, const std::string& path) {
  if (Field(metadata, "format", path) != "catamaran state") Fail("{}: not a state", path);
  StateSummary summary;
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
  }
  for (auto& [order, decl] : by_order) summary.declarations.push_back(std::move(decl));
  return summary;
}

StateManifest ReadManifest(const FileSystem& fs, const std::string& directory) {
  const std::string path = JoinPath(directory, kStateManifestName);
  if (!fs.Exists(path)) Fail("{}: no state was saved here (there is no {})", directory, path);
  return ParseStateManifest(fs.ReadAll(path, kMaxManifestBytes), path);
}

void CheckDataFile(const FileSystem& fs, const std::string& path,
                   const StateManifest::File& wanted) {
  const auto file = fs.OpenRead(path);
  if (file->size() != wanted.size) {
    Fail("{}: damaged: it has {} bytes; {} were saved", path, file->size(), wanted.size);
  }
  std::vector<std::byte> buffer(size_t{1} << 20);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < wanted.size;) {
    const size_t count = file->Read(at, buffer);
    if (count == 0) Fail("{}: damaged: it ends at byte {} of {}", path, at, wanted.size);
    crc = Crc32c(std::span(buffer).first(count), crc);
    at += count;
  }
  if (crc != wanted.crc) {
    Fail("{}: damaged: its checksum is {:08x}; {:08x} was saved", path, crc, wanted.crc);
  }
}

struct Contents {
  SafetensorsFile dense, rows;
  StateSummary summary;
};

Contents ReadContents(const FileSystem& fs, const std::string& directory,
                      const StateManifest& manifest) {
  Contents contents;
  bool has_dense = false;
  for (const StateManifest::File& entry : manifest.files) {
    const std::string path = JoinPath(directory, entry.name);
    CheckDataFile(fs, path, entry);
    SafetensorsFile file = ReadSafetensors(fs, path);
    if (entry.name.starts_with(kDensePrefix)) {
      contents.summary = SummaryOf(file.metadata, path);
      contents.dense = std::move(file);
      has_dense = true;
    } else {
      contents.rows = std::move(file);
    }
  }
  if (!has_dense) {
    Fail("{}: the manifest names no file of dense values", JoinPath(directory, kStateManifestName));
  }
  contents.summary.generation = manifest.generation;
  return contents;
}

// A save may remove the files that we are reading; then CURRENT is another one by now.
Contents ReadNewest(const FileSystem& fs, const std::string& directory) {
  StateManifest manifest = ReadManifest(fs, directory);
  while (true) {
    try {
      return ReadContents(fs, directory, manifest);
    } catch (const Error&) {
      StateManifest newer = ReadManifest(fs, directory);
      if (newer == manifest) throw;
      manifest = std::move(newer);
    }
  }
}

NamedTensors RowsOf(const SafetensorsFile& rows, const std::string& path) {
  NamedTensors tensors;
  const std::string prefix = path + kTableSeparator;
  for (const NamedTensor& entry : rows.tensors) {
    if (entry.name.starts_with(prefix)) {
      tensors.emplace_back(entry.name.substr(prefix.size()), entry.tensor);
    }
  }
  return tensors;
}

// Removes data files of other generations than `keep`. What cannot be removed stays for the next
// save: nobody looks at it.
void RemoveOthers(FileSystem& fs, const std::string& directory, uint64_t keep) {
  try {
    for (const std::string& name : fs.List(directory)) {
      const uint64_t generation = GenerationOf(name);
      if (generation != 0 && generation != keep) fs.Remove(JoinPath(directory, name));
    }
  } catch (const Error&) {
  }
}

void RemoveGeneration(FileSystem& fs, const std::string& directory, uint64_t generation) {
  for (const std::string_view prefix : {kDensePrefix, kTablesPrefix}) {
    try {
      fs.Remove(JoinPath(directory, FileName(prefix, generation)));
    } catch (const Error&) {
      // It was never made, or the disk is gone; the first error is the one to tell.
    }
  }
}

}  // namespace

std::unique_ptr<FileLock> LockState(FileSystem& fs, const std::string& directory) {
  fs.MakeDirectories(directory);
  return fs.Lock(JoinPath(directory, kLockName));
}

bool HasState(const FileSystem& fs, const std::string& directory) {
  return fs.Exists(JoinPath(directory, kStateManifestName));
}

void SaveState(FileSystem& fs, const std::string& directory, const Program& flat, State& state) {
  if (State::Fingerprint(flat) != state.fingerprint()) {
    Fail("{}: the state was made from another program than {}", directory, flat.name);
  }
  const Snapshot snapshot = TakeSnapshot(state);

  fs.MakeDirectories(directory);
  // A number that no file has: if CURRENT is damaged, what it named stays until this is done.
  StateManifest manifest;
  manifest.generation = 1;
  for (const std::string& name : fs.List(directory)) {
    manifest.generation = std::max(manifest.generation, GenerationOf(name) + 1);
  }
  try {
    manifest.files.push_back(WriteDataFile(fs, directory,
                                           FileName(kDensePrefix, manifest.generation),
                                           snapshot.dense, MetadataOf(flat, state, snapshot.step)));
    if (snapshot.has_tables) {
      manifest.files.push_back(
          WriteDataFile(fs, directory, FileName(kTablesPrefix, manifest.generation), snapshot.rows,
                        {{"format", "catamaran state"},
                         {"version", std::to_string(kStateFormatVersion)},
                         {"program", flat.name}}));
    }
    fs.SyncDirectory(directory);
  } catch (const Error&) {
    RemoveGeneration(fs, directory, manifest.generation);
    throw;
  }
  WriteFileAtomically(fs, JoinPath(directory, kStateManifestName), FormatStateManifest(manifest));
  RemoveOthers(fs, directory, manifest.generation);
}

LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const MatchOptions& match, const StateOptions& options) {
  const Contents contents = ReadNewest(fs, directory);
  LoadedState loaded;
  loaded.match = MatchState(contents.summary.declarations, DeclarationsOf(flat), match, directory);
  loaded.state = State::Create(flat, contents.summary.seed, options);
  for (const StateMatch::Pair& pair : loaded.match.loaded) {
    const size_t i = static_cast<size_t>(loaded.state->Find(pair.now));
    if (loaded.state->info(i).kind == StateKind::kTable) {
      try {
        loaded.state->table(pair.now).Import(RowsOf(contents.rows, pair.saved));
      } catch (const Error& error) {
        Fail("{}: @{}: {}", directory, pair.saved, error.what());
      }
    } else {
      const Tensor* tensor = contents.dense.Find(pair.saved);
      if (tensor == nullptr) Fail("{}: damaged: there is no value of @{}", directory, pair.saved);
      loaded.state->SetTensor(pair.now, *tensor);
    }
  }
  loaded.state->SetStep(contents.summary.step);
  return loaded;
}

StateSummary ReadStateSummary(const FileSystem& fs, const std::string& directory) {
  return ReadNewest(fs, directory).summary;
}

}  // namespace catamaran
