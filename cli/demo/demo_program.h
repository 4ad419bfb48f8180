// cli/demo/demo_program.h
//
// Programs of examples/, carried in the binary.

#pragma once

namespace catamaran::cli {

extern const char* const kFeedProgram;    // feed.ctm
extern const char* const kSpiralProgram;  // spiral.ctm

}  // namespace catamaran::cli
