// serve/wire/grpc/library_logs.h
//
// gRPC and protobuf write to stderr what clients do wrong: handshakes that fail, messages that are
// none. Clients must not fill a disk that way.

#pragma once

namespace catamaran {

// From now on they write a few lines a minute at most, in the whole process: their logs are
// the process's. May be called again and from any thread.
void LimitLibraryLogs();

}  // namespace catamaran
