// Good and hostile clients at one service for --minutes, which is killed and denied room on its
// disk meanwhile; and then the ledger: what was acknowledged, beside what was learned.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/serve/learning_cases.h"
#include "bench/serve/learning_client.h"
#include "bench/serve/soak/good_clients.h"
#include "bench/serve/soak/hostile_clients.h"
#include "bench/serve/soak/ledger.h"
#include "bench/serve/soak/server.h"
#include "bench/serve/soak/watch.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr int kGoodConnections = 4, kHostileThreads = 3;
constexpr double kGoodRate = 80;         // requests a second, beside their clicks and examples
constexpr int kKills = 4;                // in the first half; memory is looked at in the second
constexpr double kMostWarmSeconds = 75;  // until what is remembered for a time is in balance
constexpr double kMostNoRoomSeconds = 30, kNoticeRoomSeconds = 3;
constexpr double kCatchUpSeconds = 180;

double Percentile(const std::vector<double>& sorted, double percent) {
  if (sorted.empty()) return 0;
  const auto rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

class Soak final : public Case {
 public:
  explicit Soak(double minutes) : seconds_(minutes * 60) {}

  Measurement Run() override {
    ProcessWatch watch([this] { return server_.pid(); });
    ToldGood told;
    HostileReport hostile;
    {
      GoodClients good(server_.http_port(), server_.grpc_port(), kGoodConnections, kGoodRate);
      HostileClients others(server_.http_port(), server_.grpc_port(), kHostileThreads,
                            [&] { return good.RecentKey(); });
      LetTimePass(good, watch);
      hostile = others.Stop();
      told = good.Stop();
    }
    const double warm = std::min(kMostWarmSeconds, seconds_ / 6);
    const ProcessGrowth memory = watch.Growth(&ProcessSample::memory_bytes, warm);
    const ProcessGrowth descriptors = watch.Growth(&ProcessSample::descriptors, warm);
    const ProcessGrowth threads = watch.Growth(&ProcessSample::threads, warm);
    Say(
        fmt::format("memory over the last {:.0f} s: {:.1f} MB, then {:.1f} MB; descriptors {:.0f}, "
                    "then {:.0f}; threads {:.0f}, then {:.0f} (medians of quarters)",
                    watch.Seconds(warm), memory.first / 1e6, memory.last / 1e6, descriptors.first,
                    descriptors.last, threads.first, threads.last));
    SayAnswers(told, hostile);
    CompareStates();
    const SoakLedger ledger = MakeLedger(server_.model_directory() + "/log", told, no_room_);
    SayLedger(ledger);
    if (ledger.steps != steps_ || ledger.taken != examples_) {
      Differ(fmt::format("the log has {} examples in {} steps, the status said {} in {}",
                         ledger.taken, ledger.steps, examples_, steps_));
    }
    std::sort(latencies_.begin(), latencies_.end());
    int64_t good_refused = 0, wrong = 0;
    for (const auto& [why, count] : told.refused) good_refused += count;
    for (const auto& [what, count] : hostile.wrong) wrong += count;
    const auto number = [](auto value) { return static_cast<double>(value); };
    return {Percentile(latencies_, 99),
            {{"p50", Percentile(latencies_, 50)},
             {"worst_minute", worst_minute_},
             {"answers", number(told.answers.size())},
             {"acknowledged", number(ledger.examples + ledger.clicks)},
             {"lost", number(ledger.lost)},
             {"twice", number(ledger.twice)},
             {"hostile", number(ledger.hostile)},
             {"unacknowledged", number(told.given_up.size())},
             {"good_refused", number(good_refused)},
             {"wrong", number(wrong)},
             {"differ", number(differences_)},
             {"refused_steps", number(refused_steps_)},
             {"attacks", number(hostile.attacks)},
             {"kills", number(kills_)},
             {"memory_growth", memory.Percent()},
             {"memory_bytes", memory.last},
             {"descriptors_growth", descriptors.last - descriptors.first},
             {"threads_growth", threads.last - threads.first}}};
  }

 private:
  // Kills and a full disk in the first half, and a line a minute.
  void LetTimePass(GoodClients& good, const ProcessWatch& watch) {
    const double begin = Now(), between = seconds_ / 2 / kKills;
    const double room_ends = begin + 2.5 * between;
    const double no_room_for = std::min(kMostNoRoomSeconds, between / 4);
    double next_kill = begin + between, next_line = begin + std::min(60.0, seconds_ / 3);
    for (double now = begin; now < begin + seconds_; now = Now()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (now >= next_line) {
        SayMinute((now - begin) / 60, good, watch.Newest());
        next_line += std::min(60.0, seconds_ / 3);
      }
      if (no_room_.begin == 0 && now >= room_ends) {
        no_room_ = {now, now + no_room_for + kNoticeRoomSeconds};
        server_.HasNoRoom();
        Say(fmt::format("no room on the disk for {:.0f} s", no_room_for));
      }
      if (has_no_room() && now >= no_room_.begin + no_room_for) {
        server_.HasRoom();
        room_again_ = true;
        Say("room again");
      }
      if (kills_ < kKills && !has_no_room() && now >= next_kill) {
        KillAndStart();
        next_kill += between;
      }
    }
    SayMinute((Now() - begin) / 60, good, watch.Newest());
  }

  bool has_no_room() const { return no_room_.begin > 0 && !room_again_; }

  void KillAndStart() {
    const double begin = Now();
    server_.Kill();
    server_.Start();
    ++kills_;
    Say(fmt::format("killed, and ready again after {:.2f} s", Now() - begin));
  }

  void SayMinute(double minute, GoodClients& good, const ProcessSample& sample) {
    const std::vector<double> latencies = good.TakeLatencies();
    latencies_.insert(latencies_.end(), latencies.begin(), latencies.end());
    worst_minute_ = std::max(worst_minute_, Percentile(latencies, 99));
    Say(fmt::format(
        "minute {:.1f}: {} answers, median {:.2f} ms, 99th percentile {:.2f} ms; "
        "{:.1f} MB, {:.0f} descriptors, {:.0f} threads",
        minute, latencies.size(), Percentile(latencies, 50) * 1e3, Percentile(latencies, 99) * 1e3,
        sample.memory_bytes / 1e6, sample.descriptors, sample.threads));
  }

  static void SayAnswers(const ToldGood& told, const HostileReport& hostile) {
    Say(
        fmt::format("good clients: {} calls found no server, {} were to come later, {} "
                    "acknowledged ones were sent again",
                    told.unreached, told.later, told.repeated));
    for (const auto& [why, count] : told.refused)
      Say(fmt::format("REFUSED {} times: {}", count, why));
    for (const std::string& what : told.given_up) Say("NEVER ACKNOWLEDGED: " + what);
    for (const auto& [kind, answers] : hostile.answers) {
      std::vector<std::string> words;
      for (const auto& [status, count] : answers) {
        words.push_back(status == 0 ? fmt::format("no answer {} times", count)
                                    : fmt::format("{} {} times", status, count));
      }
      Say(fmt::format("hostile: {}: {}", kind, fmt::join(words, ", ")));
    }
    for (const auto& [what, count] : hostile.wrong)
      Say(fmt::format("WRONG {} times: {}", count, what));
  }

  void Differ(const std::string& what) {
    ++differences_;
    Say("DIFFERS: " + what);
  }

  // On a connection of its own: others do not outlive the process.
  v1::StatusReply Status() const {
    return LearningClient(server_.grpc_port(), kSoakModel).Status();
  }

  // Waits until all is learned and committed; then what the status says, before and after one more
  // kill, and what a replay of the log gives, must be the same.
  void CompareStates() {
    const double begin = Now();
    v1::StatusReply before = Status();
    while (before.waiting_examples() > 0 || Now() < begin + kClickWindowSeconds + 5) {
      if (Now() > begin + kCatchUpSeconds)
        Fail("{} examples still wait", before.waiting_examples());
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      before = Status();
    }
    LearningClient(server_.grpc_port(), kSoakModel).Commit();
    before = Status();
    KillAndStart();
    const v1::StatusReply after = Status();
    examples_ = after.examples();
    steps_ = after.steps();
    refused_steps_ = after.refused_steps();
    Say(fmt::format(
        "status: {} examples in {} steps, commit {}; {} late, {} unmatched feedback, {} "
        "keys seen again",
        examples_, steps_, after.commit(), after.late_feedback(), after.unmatched_feedback(),
        after.duplicate_keys()));
    if (before.examples() != after.examples() || before.steps() != after.steps()) {
      Differ(fmt::format("{} examples in {} steps before the last kill, {} in {} behind it",
                         before.examples(), before.steps(), after.examples(), after.steps()));
    }
    if (!after.problem().empty()) Differ("the status names a problem: " + after.problem());
    if (!after.running()) Differ("it does not learn any more");
    server_.Stop();
    for (const std::string& command :
         {fmt::format("log verify '{}'", server_.model_directory()),
          fmt::format("replay '{}' --program {}", server_.model_directory(), kSoakProgram)}) {
      std::string said;
      const int status = RunCatamaran(command, said);
      for (size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) {
        Say("  " + said.substr(at, said.find('\n', at) - at));
        if (said.find('\n', at) == said.npos) break;
      }
      if (status != 0) Differ(fmt::format("'catamaran {}' ended with {}", command, status));
      if (command.starts_with("replay") && said.find("bit for bit") == said.npos) {
        Differ("the replay was not compared with a commit");
      }
    }
  }

  static void SayLedger(const SoakLedger& l) {
    Say(fmt::format("ledger: acknowledged examples {}: learned {}, refused by a guard {}",
                    l.examples, l.examples_learned, l.examples_refused));
    Say(fmt::format(
        "ledger: acknowledged clicks {}: learned {}, refused by a guard {}, for answers "
        "that the full disk lost {}",
        l.clicks, l.clicks_learned, l.clicks_refused, l.clicks_unjoined));
    Say(fmt::format("ledger: rows of answers {}: learned {}, not logged while the disk was full {}",
                    l.shown, l.shown_learned, l.shown_lost));
    Say(fmt::format("ledger: lost {}, learned twice {}, hostile examples learned {}", l.lost,
                    l.twice, l.hostile));
  }

  const double seconds_;
  SoakServer server_;
  NoRoom no_room_;
  bool room_again_ = false;
  std::vector<double> latencies_;
  double worst_minute_ = 0;
  int kills_ = 0, differences_ = 0;
  int64_t examples_ = 0, steps_ = 0, refused_steps_ = 0;
};

}  // namespace

std::unique_ptr<Case> MakeSoak(double minutes) { return std::make_unique<Soak>(minutes); }

}  // namespace catamaran::bench
