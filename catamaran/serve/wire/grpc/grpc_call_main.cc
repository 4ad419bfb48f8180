// grpc_call [--ca FILE] [--token TOKEN] [--answers N] HOST:PORT SERVICE/METHOD [JSON]
//
// Makes one call of the services that this folder knows, and prints the answers as JSON, one on a
// line; of a stream the first N. An error is printed as "CODE: MESSAGE" and exit code 1. Tests use
// it where a client is wanted that is not part of the process.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/wire/health.pb.h"
#include "catamaran/serve/wire/inference.pb.h"
#include "catamaran/serve/wire/learning.pb.h"

namespace {

namespace pb = google::protobuf;

struct Arguments {
  std::string roots, token, address, method, json = "{}";
  int answers = 1;
};

[[noreturn]] void Stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) {
      plain.emplace_back(name);
      continue;
    }
    if (++i == argc) Stop("an option without a value");
    if (name == "--ca") {
      std::ifstream file(argv[i]);
      arguments.roots.assign(std::istreambuf_iterator<char>(file), {});
      if (arguments.roots.empty()) Stop(std::string("cannot read ") + argv[i]);
    } else if (name == "--token") {
      arguments.token = argv[i];
    } else if (name == "--answers") {
      arguments.answers = std::atoi(argv[i]);
    } else {
      Stop("unknown option " + std::string(name));
    }
  }
  if (plain.size() < 2 || plain.size() > 3) Stop("wanted HOST:PORT SERVICE/METHOD [JSON]");
  arguments.address = plain[0];
  arguments.method = plain[1];
  if (plain.size() == 3) arguments.json = plain[2];
  return arguments;
}

const pb::MethodDescriptor& FindMethod(std::string name) {
  // So that their files are linked, and with them their descriptors.
  (void)inference::ModelInferRequest::descriptor();
  (void)catamaran::v1::StatusRequest::descriptor();
  (void)grpc::health::v1::HealthCheckRequest::descriptor();
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* method = pb::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (method == nullptr) Stop("there is no method " + name);
  return *method;
}

// What a completion queue says of the one operation that is under way.
bool Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

std::string Text(const pb::Message& message) {
  std::string json;
  if (!pb::util::MessageToJsonString(message, &json).ok()) Stop("the answer is no JSON");
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const pb::MethodDescriptor& method = FindMethod(arguments.method);
  auto* const factory = pb::MessageFactory::generated_factory();
  const std::unique_ptr<pb::Message> request(factory->GetPrototype(method.input_type())->New());
  const std::unique_ptr<pb::Message> answer(factory->GetPrototype(method.output_type())->New());
  if (const auto read = pb::util::JsonStringToMessage(arguments.json, request.get()); !read.ok()) {
    Stop("the request: " + read.ToString());
  }
  std::string bytes = request->SerializeAsString();

  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = arguments.roots;
  grpc::GenericStub stub(grpc::CreateChannel(
      arguments.address,
      arguments.roots.empty() ? grpc::InsecureChannelCredentials() : grpc::SslCredentials(ssl)));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  if (!arguments.token.empty()) context.AddMetadata("authorization", "Bearer " + arguments.token);

  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, "/" + arguments.method, &queue);
  call->StartCall(nullptr);
  bool going = Next(queue);
  if (going) {
    const grpc::Slice slice(bytes);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    going = Next(queue);
  }
  int got = 0;
  while (going && got < arguments.answers) {
    grpc::ByteBuffer buffer;
    call->Read(&buffer, nullptr);
    if (!Next(queue)) break;
    grpc::Slice slice;
    if (!buffer.TrySingleSlice(&slice).ok() && !buffer.DumpToSingleSlice(&slice).ok()) break;
    if (!answer->ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
      Stop("the answer is not what it should be");
    }
    std::printf("%s\n", Text(*answer).c_str());
    ++got;
  }
  if (method.server_streaming() && got == arguments.answers) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  Next(queue);
  if (status.ok() || got == arguments.answers) return 0;
  std::printf("%d: %s\n", static_cast<int>(status.error_code()), status.error_message().c_str());
  return 1;
}
