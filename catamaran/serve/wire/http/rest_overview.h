// serve/wire/http/rest_overview.h
//
// GET /v1/overview: what there is to see of all models, in one JSON. The page at / and
// `catamaran top` show it.
//
//   {"server": {"name", "version", "ready", "uptime_seconds", "memory_bytes", "time_ms"},
//    "models": [{"name", "version", "state", "reason", "current", "learns", "step",
//                "requests", "refused", "failed", "waiting_requests", "lost_impressions",
//                "lenient_rows",
//                "parameter_bytes", "tables": [{"name", "width", "rows", "waiting", "bytes",
//                                               "bytes_on_disk", "expired"}],
//                "features": [{"name", "rows", "missing", "out_of_range"}],
//                "measured_runs", "lines": [{"line", "seconds"}],
//                "lately": {FIELD: NUMBER, "p90", "p999"},
//                "learning": {as /v1/models/MODEL/learning has it} or null,
//                "history": {"distance_ms", "time_ms": [...], FIELD: [...]}}]}
//
// FIELD is a name of model_history.h; null: not known. `?minutes=1` gives the history of a day,
// else it is that of ten minutes; `?since=MS` only points later than that.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "catamaran/serve/wire/gateway.h"
#include "catamaran/serve/wire/http/model_history.h"

namespace catamaran {

class Overview {
 public:
  // Looks every second from now on. `gateway` outlives it.
  explicit Overview(Gateway& gateway);

  // `target` is the request's, with its query.
  std::string Write(std::string_view target) const;

  // Looks now; its own ticks do that.
  void Look(int64_t now_ms);

 private:
  Gateway& gateway_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, ModelHistory> models_;  // by name and version
  std::chrono::steady_clock::time_point next_look_ = began_;
  std::shared_ptr<void> tick_;
};

}  // namespace catamaran
