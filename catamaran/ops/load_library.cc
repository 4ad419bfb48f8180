#include "catamaran/ops/load_library.h"

#include <dlfcn.h>

#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/ops/op_library.h"

namespace catamaran {
namespace {

std::string LastLoadError() {
  const char* message = dlerror();
  return message != nullptr ? message : "unknown error";
}

std::shared_ptr<void> Open(const std::string& path) {
  // Without a slash the loader would look in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) Fail("{}: the library cannot be loaded: {}", path, LastLoadError());
  return {handle, [](void* h) { dlclose(h); }};
}

// Null when the library does not have it.
template <class F>
F* FindFunction(const std::shared_ptr<void>& library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library.get(), name));
}

// Null for `builders`: they are not wanted.
void Load(OpSet& ops, BuilderSet* builders, const std::string& path) {
  const std::shared_ptr<void> library = Open(path);
  auto* abi = FindFunction<uint64_t()>(library, "catamaran_op_library_abi");
  if (abi == nullptr) {
    Fail(
        "{}: this is no library of ops: it has no catamaran_op_library_abi (its source says "
        "CATAMARAN_OP_LIBRARY once)",
        path);
  }
  if (abi() != OpLibraryAbi()) {
    Fail(
        "{}: it was built for another Catamaran: its interface is {:x}, that of this program "
        "{:x}; build it again with the headers of this version",
        path, abi(), OpLibraryAbi());
  }
  auto* define_ops = FindFunction<void(OpSet&)>(library, "catamaran_define_ops");
  auto* add_builders = FindFunction<void(BuilderSet&)>(library, "catamaran_add_builders");
  if (define_ops == nullptr && add_builders == nullptr) {
    Fail("{}: it brings nothing: it has neither catamaran_define_ops nor catamaran_add_builders",
         path);
  }
  // First of all: what is added refers to the library's code, also when adding stops halfway.
  ops.Keep(library);
  if (builders != nullptr) builders->Keep(library);
  try {
    if (define_ops != nullptr) define_ops(ops);
    if (add_builders != nullptr && builders != nullptr) add_builders(*builders);
  } catch (const Error& e) {
    Fail(e.code(), "{}: {}", path, e.what());
  }
}

}  // namespace

void LoadOpLibrary(OpSet& ops, BuilderSet& builders, const std::string& path) {
  Load(ops, &builders, path);
}

void LoadOpLibrary(OpSet& ops, const std::string& path) { Load(ops, nullptr, path); }

}  // namespace catamaran
