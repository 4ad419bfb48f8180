// serve/learn/learner_part.cc

#include "catamaran/serve/learn/learner_part.h"

#include <charconv>

#include "catamaran/base/error.h"
#include "catamaran/serve/learn/plain_bytes.h"

namespace catamaran {
namespace {

constexpr std::string_view kFirstMagic = "catamaran learner 1\n";

}  // namespace

std::string FormatLearnerPart(const LearnerPart& part) {
  std::string bytes(kLearnerPartMagic);
  for (const std::string* one : {&part.stream, &part.window, &part.drift}) {
    AppendPlain(bytes, static_cast<uint64_t>(one->size()));
    bytes += *one;
  }
  return bytes;
}

LearnerPart ParseLearnerPart(std::string_view bytes, const std::string& what) {
  const bool first = bytes.starts_with(kFirstMagic);
  if (!first && !bytes.starts_with(kLearnerPartMagic)) {
    Fail(ErrorCode::kStorage,
         "{}: it is not what a model that learns has saved, or a later version did", what);
  }
  bytes.remove_prefix(kLearnerPartMagic.size());
  const auto take = [&] {
    uint64_t size = 0;
    if (!TakePlain(bytes, size) || size > bytes.size())
      Fail(ErrorCode::kStorage, "{}: damaged: it is too short", what);
    std::string one(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return one;
  };
  LearnerPart part;
  part.stream = take();
  if (first) {
    part.window = bytes;
    return part;
  }
  part.window = take();
  part.drift = take();
  return part;
}

std::optional<uint64_t> NumberIn(const Positions& positions, const char* name, int base) {
  const auto found = positions.find(name);
  if (found == positions.end()) return {};
  const std::string& text = found->second;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace catamaran
