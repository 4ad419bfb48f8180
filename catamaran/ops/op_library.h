// ops/op_library.h
//
// What the source of a user's shared library of ops includes; LoadOpLibrary (ops/load_library.h)
// opens it. The library says which interface it was built for and adds what it brings:
//
//   #include "catamaran/ops/op_library.h"
//
//   CATAMARAN_OP_LIBRARY
//
//   extern "C" void catamaran_define_ops(catamaran::OpSet& ops) { … }
//   extern "C" void catamaran_add_builders(catamaran::BuilderSet& builders) { … }  // optional
//
// It links with nothing of ours: it finds our symbols in the program that loads it. Both are
// built from the same headers by compilers that understand each other; the check of the interface
// finds most of what goes wrong otherwise.

#pragma once

#include <cstdint>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ops/op.h"

namespace catamaran {

// Raised when a library built before would not work any more.
inline constexpr uint32_t kOpLibraryVersion = 1;

// The version, and what the compiler made of the classes that both sides touch.
inline constexpr uint64_t OpLibraryAbi() {
  uint64_t hash = 1469598103934665603u;
  for (const uint64_t part :
       {uint64_t{sizeof(OpDef)}, uint64_t{sizeof(OpSet)}, uint64_t{sizeof(ArgSpec)},
        uint64_t{sizeof(OpTraits)}, uint64_t{sizeof(Sample)}, uint64_t{sizeof(Kernel)},
        uint64_t{sizeof(KernelContext)}, uint64_t{sizeof(KernelQuery)}, uint64_t{sizeof(Slot)},
        uint64_t{sizeof(Attr)}, uint64_t{sizeof(Type)}, uint64_t{sizeof(Op)},
        uint64_t{sizeof(Function)}, uint64_t{sizeof(BuilderDef)}, uint64_t{sizeof(BuilderSet)}}) {
    hash = (hash ^ part) * 1099511628211u;
  }
  return uint64_t{kOpLibraryVersion} << 32 | (hash >> 32);
}

}  // namespace catamaran

extern "C" {
// REQUIRES nothing and does nothing else: it is called before anything is known of the library.
[[gnu::visibility("default")]] uint64_t catamaran_op_library_abi();
[[gnu::visibility("default")]] void catamaran_define_ops(catamaran::OpSet& ops);
[[gnu::visibility("default")]] void catamaran_add_builders(catamaran::BuilderSet& builders);
}

#define CATAMARAN_OP_LIBRARY \
  extern "C" uint64_t catamaran_op_library_abi() { return ::catamaran::OpLibraryAbi(); }
