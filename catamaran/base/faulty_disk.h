// base/faulty_disk.h
//
// What is behind a FaultyFileSystem: a tree of files and directories that knows which part of it
// has reached the disk, and the faults to come. Included by faulty_file.cc only.
//
// Thread safety: hold `mutex` around everything.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/base/function_ref.h"

namespace catamaran {

struct FaultyFileSystem::Disk {
  static constexpr uint64_t kNever = UINT64_MAX;

  // A file or a directory, as the running machine sees it and as the disk holds it.
  struct Node {
    explicit Node(bool is_directory) : directory(is_directory) {}

    const bool directory;
    std::string data, durable_data;
    std::map<std::string, std::shared_ptr<Node>> entries, durable_entries;
  };
  using NodeRef = std::shared_ptr<Node>;

  // A name in a directory that has been given to a node or, where that is null, taken away.
  struct NameChange {
    NodeRef directory;
    std::string name;
    NodeRef node;
  };

  // Where a path leads: the directory that holds its last name, and the node if there is one. The
  // root has neither directory nor name.
  struct Place {
    NodeRef directory;
    std::string name;
    NodeRef node;
  };

  // Every operation begins here: counts it, and fails or crashes if its time has come.
  void Begin(std::string_view doing, const std::string& path);

  // The same for a file opened when `boots` was `boot`.
  void BeginOnOpenFile(std::string_view doing, const std::string& path, uint64_t boot);

  // These throw where the path leads nowhere, or to the wrong kind.
  Place Find(std::string_view doing, const std::string& path) const;
  Place FindExisting(std::string_view doing, const std::string& path) const;
  NodeRef FindFile(std::string_view doing, const std::string& path) const;
  NodeRef FindDirectory(std::string_view doing, const std::string& path) const;
  NodeRef FindOrMakeFile(std::string_view doing, const std::string& path);

  // Null where the path leads nowhere.
  NodeRef Lookup(const std::string& path) const;

  // Makes the changes, as one operation that is not durable yet.
  void Change(std::vector<NameChange> changes);

  // Makes all pending operations that concern `directory` durable.
  void Sync(const NodeRef& directory);

  // See FaultyFileSystem::Crash.
  void Crash(uint64_t seed);

  std::mutex mutex;
  NodeRef root = std::make_shared<Node>(true);
  std::vector<std::vector<NameChange>> pending;  // operations, oldest first
  std::set<NodeRef> locks;
  uint64_t operations = 0;
  uint64_t fail_at = kNever, crash_at = kNever, crash_seed = 0;
  uint64_t boots = 0;
  bool crashed = false;
  uint64_t space = UINT64_MAX;
  size_t read_limit = SIZE_MAX;
};

}  // namespace catamaran
