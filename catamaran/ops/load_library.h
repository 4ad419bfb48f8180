// ops/load_library.h
//
// Ops and builders from a user's shared library, defined by the same calls as ours
// (ops/op_library.h is what it includes). The sets keep the library loaded; a program keeps its
// op set, so nothing that came from a library outlives it.

#pragma once

#include <string>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {

// Adds all that the library at `path` brings: its ops to `ops`, its builders, if any, to
// `builders`. `path` is a file; the system's library folders are not searched. Throws an Error
// that names the file and what is wrong: it cannot be loaded, is no op library, was built for
// another interface, or defines a name that is taken. What it had added by then stays.
void LoadOpLibrary(OpSet& ops, BuilderSet& builders, const std::string& path);

// The same for a library of ops only; its builders, if any, are not added.
void LoadOpLibrary(OpSet& ops, const std::string& path);

}  // namespace catamaran
