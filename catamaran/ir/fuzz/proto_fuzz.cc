// Any bytes are an Error or a program that comes back from its own bytes. The input is a payload:
// the header with its checksum is put before it here, so that the fuzzer gets past it. An input
// that begins as a whole file does is read as it is.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ir/proto_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace catamaran;
  static const std::shared_ptr<const OpSet> ops = testing::ProtoSampleOps();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string bytes =
      LooksLikeProtoBytes(input) ? std::string(input) : ProgramHeader(input) + std::string(input);
  try {
    const Program program = FromProtoBytes(bytes, ops, "fuzz");
    const std::string again = ToProtoBytes(program);
    const Program back = FromProtoBytes(again, ops, "fuzz again");
    if (!Equal(program, back) || ToProtoBytes(back) != again) std::abort();
  } catch (const Error& e) {
    // What was accepted once must not be refused the second time.
    if (std::string_view(e.what()).starts_with("fuzz again")) std::abort();
  }
  return 0;
}
