#include "catamaran/data/features/feature_library.h"

#include <dlfcn.h>

#include <memory>

#include "catamaran/base/error.h"

namespace catamaran {

void LoadFeatureLibrary(FeatureFunctionSet& functions, const std::string& path) {
  // Without a slash the loader would look in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const message = dlerror();
    Fail("{}: the library cannot be loaded: {}", path, message != nullptr ? message : "no reason");
  }
  const std::shared_ptr<void> library(handle, [](void* h) { dlclose(h); });
  auto* const abi =
      reinterpret_cast<uint64_t (*)()>(dlsym(handle, "catamaran_feature_library_abi"));
  auto* const add = reinterpret_cast<void (*)(FeatureFunctionSet&)>(
      dlsym(handle, "catamaran_add_feature_functions"));
  if (abi == nullptr || add == nullptr) {
    Fail(
        "{}: this is no library of feature functions: it has no {} (its source says "
        "CATAMARAN_FEATURE_LIBRARY once and defines catamaran_add_feature_functions)",
        path, abi == nullptr ? "catamaran_feature_library_abi" : "catamaran_add_feature_functions");
  }
  if (abi() != FeatureLibraryAbi()) {
    Fail(
        "{}: it was built for another Catamaran: its interface is {:x}, that of this program "
        "{:x}; build it again with the headers of this version",
        path, abi(), FeatureLibraryAbi());
  }
  // First of all: what is added refers to the library's code, also when adding stops halfway.
  functions.Keep(library);
  try {
    add(functions);
  } catch (const Error& error) {
    Fail(error.code(), "{}: {}", path, error.what());
  }
}

}  // namespace catamaran
