#include "catamaran/base/faulty_disk.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"

namespace catamaran {
namespace {

using Disk = FaultyFileSystem::Disk;
using Entries = std::map<std::string, Disk::NodeRef>;

void Apply(const Disk::NameChange& change, Entries& entries) {
  if (change.node == nullptr) {
    entries.erase(change.name);
  } else {
    entries[change.name] = change.node;
  }
}

void MakeDurable(const std::vector<Disk::NameChange>& changes) {
  for (const auto& change : changes) Apply(change, change.directory->durable_entries);
}

// Brings `node` and what is under it back to what the disk holds. `choose(n)` gives a number from
// 0 to n: how much of what was not synced has got there nevertheless.
void Restore(Disk::Node& node, FunctionRef<uint64_t(uint64_t)> choose) {
  node.entries = node.durable_entries;
  for (auto& [name, child] : node.entries) Restore(*child, choose);
  if (node.data.starts_with(node.durable_data)) {
    const size_t unsynced = node.data.size() - node.durable_data.size();
    node.data.resize(node.durable_data.size() + choose(unsynced));
  } else if (choose(1) == 0) {
    node.data = node.durable_data;
  } else {
    node.data.resize(choose(node.data.size()));
  }
  node.durable_data = node.data;
}

}  // namespace

void Disk::Begin(std::string_view doing, const std::string& path) {
  const uint64_t now = operations++;
  if (now == crash_at) Crash(crash_seed);
  if (crashed) Fail(ErrorCode::kStorage, "cannot {} {}: the machine has crashed", doing, path);
  if (now == fail_at) Fail(ErrorCode::kStorage, "cannot {} {}: Input/output error", doing, path);
}

void Disk::BeginOnOpenFile(std::string_view doing, const std::string& path, uint64_t boot) {
  Begin(doing, path);
  if (boot != boots)
    Fail(ErrorCode::kStorage, "cannot {} {}: it was opened before the crash", doing, path);
}

Disk::Place Disk::Find(std::string_view doing, const std::string& path) const {
  if (path.empty()) Fail("cannot {} a file without a name", doing);
  Place place{.directory = nullptr, .name = "", .node = root};
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name(rest.substr(0, slash));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") Fail("cannot {} {}: \"..\" is not supported", doing, path);
    if (place.node == nullptr)
      Fail(ErrorCode::kStorage, "cannot {} {}: No such file or directory", doing, path);
    if (!place.node->directory)
      Fail(ErrorCode::kStorage, "cannot {} {}: Not a directory", doing, path);
    const auto found = place.node->entries.find(name);
    NodeRef next = found == place.node->entries.end() ? nullptr : found->second;
    place = {.directory = std::move(place.node), .name = name, .node = std::move(next)};
  }
  return place;
}

Disk::Place Disk::FindExisting(std::string_view doing, const std::string& path) const {
  Place place = Find(doing, path);
  if (place.node == nullptr)
    Fail(ErrorCode::kStorage, "cannot {} {}: No such file or directory", doing, path);
  return place;
}

Disk::NodeRef Disk::FindFile(std::string_view doing, const std::string& path) const {
  NodeRef node = FindExisting(doing, path).node;
  if (node->directory) Fail(ErrorCode::kStorage, "cannot {} {}: Is a directory", doing, path);
  return node;
}

Disk::NodeRef Disk::FindDirectory(std::string_view doing, const std::string& path) const {
  NodeRef node = FindExisting(doing, path).node;
  if (!node->directory) Fail(ErrorCode::kStorage, "cannot {} {}: Not a directory", doing, path);
  return node;
}

Disk::NodeRef Disk::FindOrMakeFile(std::string_view doing, const std::string& path) {
  Place place = Find(doing, path);
  if (place.node == nullptr) {
    place.node = std::make_shared<Node>(false);
    Change({{place.directory, place.name, place.node}});
  }
  if (place.node->directory) Fail(ErrorCode::kStorage, "cannot {} {}: Is a directory", doing, path);
  return place.node;
}

Disk::NodeRef Disk::Lookup(const std::string& path) const {
  try {
    return Find("look at", path).node;
  } catch (const Error&) {
    return nullptr;
  }
}

void Disk::Change(std::vector<NameChange> changes) {
  for (const NameChange& change : changes) Apply(change, change.directory->entries);
  pending.push_back(std::move(changes));
}

void Disk::Sync(const NodeRef& directory) {
  std::erase_if(pending, [&](const std::vector<NameChange>& changes) {
    const bool here = std::any_of(changes.begin(), changes.end(), [&](const NameChange& change) {
      return change.directory == directory;
    });
    if (here) MakeDurable(changes);
    return here;
  });
}

void Disk::Crash(uint64_t seed) {
  uint64_t draws = 0;
  const auto choose = [&](uint64_t most) -> uint64_t {
    return seed == 0 ? 0 : HashCombine(seed, ++draws) % (most + 1);
  };
  const uint64_t surviving = choose(pending.size());
  for (size_t i = 0; i < surviving; ++i) MakeDurable(pending[i]);
  pending.clear();
  Restore(*root, choose);
  locks.clear();
  crashed = true;
  crash_at = fail_at = kNever;
  ++boots;
}

}  // namespace catamaran
