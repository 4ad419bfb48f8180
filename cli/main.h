// cli/main.h
//
// The command line as a function, for the program and for tests.

#pragma once

namespace catamaran::cli {

// Never throws. Returns the exit code.
int Main(int argc, char** argv);

}  // namespace catamaran::cli
