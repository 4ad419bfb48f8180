// data/features/feature_library.h
//
// What the source of a user's shared library of feature functions includes. A features file names
// it by `plugin "path"`, a command by --features-library. It says which interface it was built for
// and adds what it brings, as feature_function.h shows:
//
//   #include "catamaran/data/features/feature_library.h"
//
//   CATAMARAN_FEATURE_LIBRARY
//
//   extern "C" void catamaran_add_feature_functions(catamaran::FeatureFunctionSet& functions) { … }
//
// It links with nothing of ours: it finds our symbols in the program that loads it. Both are
// built from the same headers by compilers that understand each other; the check of the interface
// finds most of what goes wrong otherwise.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/data/features/feature_function.h"

namespace catamaran {

// Raised when a library built before would not work any more.
inline constexpr uint32_t kFeatureLibraryVersion = 2;

// The version, and what the compiler made of the classes that both sides touch.
inline constexpr uint64_t FeatureLibraryAbi() {
  uint64_t hash = 1469598103934665603u;
  for (const uint64_t part :
       {uint64_t{sizeof(FeatureFunction)}, uint64_t{sizeof(FeatureFunctionSet)},
        uint64_t{sizeof(FeatureCall)}, uint64_t{sizeof(FeatureKernel)},
        uint64_t{sizeof(FeatureArgs)}, uint64_t{sizeof(FeatureValues)},
        uint64_t{sizeof(FittedValue)}, uint64_t{sizeof(ValueType)}}) {
    hash = (hash ^ part) * 1099511628211u;
  }
  return uint64_t{kFeatureLibraryVersion} << 32 | (hash >> 32);
}

// Adds all that the library at `path` brings; the set keeps it loaded. `path` is a file; the
// system's library folders are not searched. Throws an Error that names the file and what is wrong:
// it cannot be loaded, is no such library, was built for another interface, or adds a name that is
// taken.
void LoadFeatureLibrary(FeatureFunctionSet& functions, const std::string& path);

}  // namespace catamaran

extern "C" {
// REQUIRES nothing and does nothing else: it is called before anything is known of the library.
[[gnu::visibility("default")]] uint64_t catamaran_feature_library_abi();
[[gnu::visibility("default")]] void catamaran_add_feature_functions(
    catamaran::FeatureFunctionSet& functions);
}

#define CATAMARAN_FEATURE_LIBRARY \
  extern "C" uint64_t catamaran_feature_library_abi() { return ::catamaran::FeatureLibraryAbi(); }
