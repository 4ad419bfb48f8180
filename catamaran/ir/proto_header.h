// ir/proto_header.h
//
// The first bytes of a stored program: what it is, which version, how long, and a checksum.
// Private to proto_read.cc and proto_write.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace catamaran {

inline constexpr std::string_view kProgramMagic = "CTMPROG\n";

struct ProgramFileHeader {
  uint32_t version = 0;
  uint32_t checksum = 0;  // CRC-32C of the payload
  uint64_t payload_bytes = 0;
};

// Little-endian, in the order of the fields, after the magic.
std::string EncodeProgramHeader(const ProgramFileHeader& header);
// REQUIRES: `bytes` has at least kProgramHeaderBytes.
ProgramFileHeader DecodeProgramHeader(std::string_view bytes);

}  // namespace catamaran
