// cli/demo_program.h
//
// examples/spiral.ctm, carried in the binary.

#pragma once

namespace catamaran::cli {

extern const char* const kSpiralProgram;

}  // namespace catamaran::cli
