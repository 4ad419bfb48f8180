#include "catamaran/ir/proto_header.h"

namespace catamaran {
namespace {

void Put(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t Take(std::string_view& bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(count);
  return value;
}

}  // namespace

std::string EncodeProgramHeader(const ProgramFileHeader& header) {
  std::string out(kProgramMagic);
  Put(header.version, 4, out);
  Put(header.checksum, 4, out);
  Put(header.payload_bytes, 8, out);
  return out;
}

ProgramFileHeader DecodeProgramHeader(std::string_view bytes) {
  bytes.remove_prefix(kProgramMagic.size());
  ProgramFileHeader header;
  header.version = static_cast<uint32_t>(Take(bytes, 4));
  header.checksum = static_cast<uint32_t>(Take(bytes, 4));
  header.payload_bytes = Take(bytes, 8);
  return header;
}

}  // namespace catamaran
