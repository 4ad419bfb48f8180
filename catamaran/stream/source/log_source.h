// stream/source/log_source.h
//
// A log as a Source and as a Sink. Its position is "ID:OFFSET" under the name that it is given, so
// that a position of one log is never taken for one of another.

#pragma once

#include <memory>
#include <string>

#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_reader.h"
#include "catamaran/stream/source.h"

namespace catamaran {

// Follows a log from its beginning on; ends when the log is closed. The log outlives the source.
std::unique_ptr<Source> MakeLogSource(Log& log, std::string name);
// Ends where the log ended when the reader was opened. The reader outlives the source.
std::unique_ptr<Source> MakeLogSource(const LogReader& log, std::string name);

// Kept means what the log's policy says. The log outlives the sink.
std::unique_ptr<Sink> MakeLogSink(Log& log);

}  // namespace catamaran
