// ir/proto.h
//
// Programs as bytes: what is stored and sent. Both stages of a program, as written and flat,
// come back as they were: structure, names, types, attributes, locations and the builders that
// made each op. Equal programs give equal bytes. docs/formats/program.md describes them.
//
// Bytes from outside are not trusted. Whatever they hold, FromProtoBytes returns a program whose
// references are in range, whose values are defined before their use and whose ops have the
// shape that their definitions ask for, or it throws an Error; time and memory stay within a
// constant factor of the number of bytes. It does not check types: Flatten and Verify do.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "catamaran/ir/program.h"

namespace catamaran {

struct ProtoOptions {
  // With the text of the source files errors in a loaded program show the line; without it they
  // name file and line only.
  bool keep_source_text = true;
};

// Throws an Error when the program is nested deeper than the limits below.
std::string ToProtoBytes(const Program& program, const ProtoOptions& options = {});

// `name_for_errors`, a path for instance, begins the message of every Error.
Program FromProtoBytes(std::string_view bytes, std::shared_ptr<const OpSet> ops,
                       std::string_view name_for_errors);

// Whether the bytes begin as a stored program does.
bool LooksLikeProtoBytes(std::string_view bytes);

// The version that is written; any up to it is read.
inline constexpr uint32_t kProgramFormatVersion = 1;
inline constexpr size_t kProgramHeaderBytes = 24;

// The header that makes `payload` (a serialized catamaran.v1.Program) a file.
std::string ProgramHeader(std::string_view payload);

struct ProtoLimits {
  static constexpr int kBlockDepth = 200;   // blocks within blocks
  static constexpr int kAttrDepth = 200;    // calls and lists within one attribute
  static constexpr int kBuilderDepth = 16;  // builder definitions within each other
  static constexpr int kImportDepth = 32;   // imports within imports
  static constexpr int kElementDepth = 16;  // stack<stack<…>>
  static constexpr size_t kBytes = size_t{1} << 30;
};

}  // namespace catamaran
