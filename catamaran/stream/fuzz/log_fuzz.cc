// Any bytes as the segments of a log are refused with an Error, or are a log: it can be read, goes
// on, and holds the same when it is opened again. The first byte of the input says whether
// checksums are made right first, so that the fuzzer gets past them; the next two where the second
// segment begins.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/base/unaligned.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_reader.h"
#include "catamaran/stream/log/log_scan.h"
#include "catamaran/stream/log/log_test_util.h"

namespace {

using namespace catamaran;
using namespace catamaran::log_format;

constexpr uint64_t kId = 5;

// Makes the head and all frames that follow each other whole, whatever they hold.
void Reseal(std::string& bytes, LogOffset first) {
  if (bytes.size() < kHeadBytes) return;
  SegmentHead head;
  head.id = kId;
  head.first = first;
  head.durable = std::min<uint64_t>(unaligned::Load<uint64_t>(&bytes[32]), first);
  head.newest_ns = unaligned::Load<int64_t>(&bytes[40]);
  bytes.replace(0, kHeadBytes, StoreHead(head));
  std::byte* const data = reinterpret_cast<std::byte*>(bytes.data());
  for (size_t at = kHeadBytes; bytes.size() - at >= kFrameBytes;) {
    const auto frame = LoadFrameHead(data + at);
    if (!frame || frame->payload_bytes > bytes.size() - at - kFrameBytes) return;
    const std::string payload = bytes.substr(at + kFrameBytes, frame->payload_bytes);
    StoreFrame(kId, first + (at - kHeadBytes), *frame, testing::AsBytes(payload), data + at);
    at += kFrameBytes + payload.size();
  }
}

void Put(FileSystem& fs, LogOffset first, std::string bytes, bool reseal) {
  if (reseal) Reseal(bytes, first);
  WriteFileAtomically(fs, "log/" + SegmentName(first), bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const bool reseal = data[0] % 2 == 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 3), size - 3);
  const size_t split = std::min<size_t>(unaligned::Load<uint16_t>(data + 1), bytes.size());
  FaultyFileSystem fs;
  fs.MakeDirectory("log");
  Put(fs, 0, bytes.substr(0, split), reseal);
  if (split < bytes.size() && split > kHeadBytes) {
    Put(fs, split - kHeadBytes, bytes.substr(split), reseal);
  }
  try {
    ScanLog(fs, "log");
    LogReader::Open(fs, "log");
    std::vector<testing::Said> all;
    {
      const auto log = Log::Open(fs, "log");
      all = testing::AllOf(*log);
      all.push_back({9, 8, "seven"});
      testing::AppendTo(*log, all.back());
    }
    const auto log = Log::Open(fs, "log");
    if (log->recovery().cut || testing::AllOf(*log) != all) std::abort();
    if (ScanLog(fs, "log").all.records != all.size()) std::abort();
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("log")) std::abort();
  }
  return 0;
}
