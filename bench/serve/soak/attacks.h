// bench/serve/soak/attacks.h
//
// The kinds of attack, as a table.
//
// Thread safety: as HostileClients needs it; an Attacker is for one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/serve/learning_client.h"
#include "bench/serve/soak/raw_http.h"

namespace catamaran::bench {

struct AttackResult {
  std::vector<int> statuses;  // of HTTP, or what gRPC's is in HTTP; empty: no answer
  std::string wrong;          // what is wrong with the answer; empty: nothing
};

class Attacker {
 public:
  Attacker(int http_port, int grpc_port, std::function<std::string()> recent_key);

  struct Kind {
    const char* name;
    AttackResult (Attacker::*attack)(uint64_t number);
  };
  static const std::vector<Kind>& Kinds();

 private:
  AttackResult Smuggle(uint64_t number);
  AttackResult HugeBody(uint64_t number);
  AttackResult HugeGrpcMessage(uint64_t number);
  AttackResult AbsurdLabel(uint64_t number);
  AttackResult AbsurdLabelOverGrpc(uint64_t number);
  AttackResult AbsurdFeedback(uint64_t number);
  AttackResult MisspeltColumn(uint64_t number);
  AttackResult TimeFarAhead(uint64_t number);
  AttackResult UnknownFeedback(uint64_t number);
  AttackResult HalfRequest(uint64_t number);
  AttackResult ResetRequest(uint64_t number);
  AttackResult KeyOfAnother(uint64_t number);
  AttackResult LoadPasswords(uint64_t number);
  AttackResult NoJson(uint64_t number);

  AttackResult Post(const std::string& path, const std::string& json,
                    const std::vector<int>& allowed);
  template <class Call>
  AttackResult Grpc(Call call);

  const int http_port_;
  const std::function<std::string()> recent_key_;
  LearningClient client_;
  const std::string million_rows_;
};

}  // namespace catamaran::bench
