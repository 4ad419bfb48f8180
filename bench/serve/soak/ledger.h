// bench/serve/soak/ledger.h
//
// What good clients were told, beside what the service's log says was learned from, and how often.
//
// Thread safety: functions may be called concurrently.

#pragma once

#include <cstdint>
#include <string>

#include "bench/serve/soak/good_clients.h"

namespace catamaran::bench {

// When answers may leave without being logged (Now()): the disk was full.
struct NoRoom {
  double begin = 0, end = 0;
  bool Has(double at) const { return at >= begin && at <= end; }
};

struct SoakLedger {
  // Rows of acknowledged examples: learned from once, or by a step that a guard refused.
  int64_t examples = 0, examples_learned = 0, examples_refused = 0;
  // Acknowledged clicks: learned from, refused, or for an answer that the full disk lost.
  int64_t clicks = 0, clicks_learned = 0, clicks_refused = 0, clicks_unjoined = 0;
  // Rows of answers, each an example once its window has ended; or lost while the disk was full.
  int64_t shown = 0, shown_learned = 0, shown_lost = 0;
  int64_t lost = 0;              // of all these: neither learned from nor explained
  int64_t twice = 0;             // the same thing learned from more than once
  int64_t hostile = 0;           // examples of hostile clients that were learned from
  int64_t steps = 0, taken = 0;  // all that the log has, and the examples in them
};

// `log`: its directory. An Error if it cannot be read.
SoakLedger MakeLedger(const std::string& log, const ToldGood& told, const NoRoom& no_room);

}  // namespace catamaran::bench
