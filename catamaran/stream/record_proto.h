// stream/record_proto.h
//
// Between the structs of record.h and their protobuf, for the .cc files of this folder alone.

#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/stream/record.h"
#include "catamaran/stream/record.pb.h"

namespace catamaran {

namespace proto = ::catamaran::stream::v1;

void ToProto(const JoinSettings& from, proto::JoinSettings& to);
void FromProto(const proto::JoinSettings& from, JoinSettings& to);
void ToProto(const SchemaRecord& from, proto::Schema& to);
void FromProto(const proto::Schema& from, SchemaRecord& to);
void ToProto(const FeedbackRecord::Item& from, proto::Feedback::Item& to);
void FromProto(const proto::Feedback::Item& from, FeedbackRecord::Item& to);

template <class Message>
std::string Serialize(const Message& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes))
    Fail(ErrorCode::kResourceExhausted, "a record of more than 2 GB cannot be written");
  return bytes;
}

// An Error that begins with `what` if the bytes are not such a message.
template <class Message>
Message ParseMessage(std::span<const std::byte> bytes, std::string_view what) {
  Message message;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    Fail(ErrorCode::kStorage, "{}: damaged: these {} bytes are not one", what, bytes.size());
  }
  return message;
}

}  // namespace catamaran
