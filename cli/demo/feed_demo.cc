// What `catamaran demo` does, in order.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "catamaran/base/clock.h"
#include "catamaran/base/scratch_directory.h"
#include "cli/demo/commands.h"
#include "cli/demo/comparison.h"
#include "cli/demo/demo_program.h"
#include "cli/demo/log_audit.h"
#include "cli/demo/server_process.h"
#include "cli/demo/service_client.h"
#include "cli/demo/simulator.h"
#include "cli/demo/traffic.h"

namespace catamaran::cli {
namespace {

constexpr double kSpeed = 60;          // of the world's clock
constexpr double kRetrainEvery = 300;  // seconds of the world
constexpr double kWindow = 45;         // seconds of it in which a click is expected
constexpr const char* kModel = "feed";

using Steady = std::chrono::steady_clock;

double Since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

double Percentile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return std::nan("");
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(fraction * static_cast<double>(sorted.size())))];
}

std::string Minutes(double world_seconds) {
  const auto minutes = static_cast<int64_t>(world_seconds / 60);
  return fmt::format("{}:{:02}", minutes / 60, minutes % 60);
}

// Calls until the service answers; for calls while nothing disturbs it.
template <class Call>
void Insist(Call call) {
  const auto begin = Steady::now();
  while (!call()) {
    if (Since(begin) > 60) Fail("the service does not answer");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::atomic<bool> interrupted = false;

class FeedDemo {
 public:
  FeedDemo(Session& session, const FeedDemoOptions& options)
      : session_(session),
        options_(options),
        scratch_(session.fs, session.fs.IsDirectory("build") ? "build/scratch" : SystemScratch()),
        program_path_(Path("feed.ctm")),
        world_(options.seed, options.rate / kSpeed),
        zero_time_ns_(RealClock().Now()) {
    WriteFileAtomically(session.fs, program_path_, std::string_view(kFeedProgram));
  }

  ExitCode Run() {
    ShowProgram();
    MakeFirstModel();
    StartService();
    LearnFromOneClick();
    LiveTraffic();
    Verdict();
    PrintNext();
    if (options_.keep) GoOn();
    return audit_.lost == 0 && audit_.twice == 0 && agrees_ ? kOk : kWrong;
  }

 private:
  std::string Path(const char* name) const { return JoinPath(scratch_.path(), name); }
  std::string LogPath() const { return JoinPath(JoinPath(Path("data"), kModel), "log"); }
  std::string Address() const { return fmt::format("http://127.0.0.1:{}", service_->http_port()); }

  void Title(const std::string& text) const { fmt::print("\n{}\n", session_.out.Bold(text)); }

  // What was done since `begin`.
  static void Timed(const std::string& what, Steady::time_point begin, const char* then = "") {
    fmt::print("  {:<54} {:>7.1f} ms{}\n", what, Since(begin) * 1e3, then);
    std::fflush(stdout);
  }

  void ShowProgram() {
    fmt::print("{}\n{}", session_.out.Bold("The program: one file that is trained and served"),
               session_.out.Dim(kFeedProgram));
    std::fflush(stdout);
  }

  void MakeFirstModel() {
    const auto begin = Steady::now();
    program_.emplace(LoadProgram(session_, program_path_));
    comparison_.emplace(program_->flat, options_.seed, kWindow);
    const auto views = static_cast<int64_t>(options_.history * 60 * options_.rate / kSpeed);
    comparison_->MakeFirstModel(session_.fs, world_, views, Path("first"));
    Title("The service");
    Timed(fmt::format("a first model is trained on {} impressions", views * 8), begin);
  }

  void StartService() {
    const auto begin = Steady::now();
    const std::vector<std::string> settings = {"event_clock=yes", "commit_every=5s",
                                               fmt::format("click.window={}s", kWindow),
                                               "click.late=1h", "click.late_weight=1"};
    std::vector<std::string> arguments = {program_path_, "--name",     kModel,       "--state",
                                          Path("first"), "--data-dir", Path("data"), "--learn"};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    service_.emplace(session_.fs, arguments, Path("service.txt"));
    service_->Start();
    client_.emplace(service_->http_port(), kModel);
    Timed("serving at " + Address(), begin);
    has_page_ = client_->HasPage();
    if (has_page_) fmt::print("  {}\n", session_.out.Bold("watch it: " + Address() + "/"));
  }

  // Someone and something that the model has never seen.
  void LearnFromOneClick() {
    FeedRequest request;
    request.id = "first";
    request.user = 1'000'000;
    request.topics = request.stories = {0};
    request.time_ns = zero_time_ns_;
    std::vector<float> before, after;
    auto begin = Steady::now();
    Insist([&] { return client_->Infer(request, before); });
    Timed(fmt::format("infer: a new person, a new story: {:.4f}", before[0]), begin);
    begin = Steady::now();
    Insist([&] { return client_->Feedback({{request.id, 0, zero_time_ns_}}); });
    Timed("feedback: clicked; acknowledged when it is on disk", begin);
    acknowledged_.emplace_back(request.id, 0);
    begin = Steady::now();
    request.id = "second";
    request.log = false;
    do {
      Insist([&] { return client_->Infer(request, after); });
      if (Since(begin) > 20) Fail("the service does not learn from the click");
    } while (after[0] == before[0]);
    Timed(fmt::format("infer: the same again: {:.4f} ({:+.4f})", after[0], after[0] - before[0]),
          begin, " after that");
  }

  TrafficOptions Options(int64_t first_view) const {
    TrafficOptions options;
    options.port = service_->http_port();
    options.model = kModel;
    options.connections = options_.connections;
    options.rate = options_.rate;
    options.first_view = first_view;
    options.zero_time_ns = zero_time_ns_;
    return options;
  }

  void LiveTraffic() {
    Title(
        "Live traffic: a simulated minute a second; stories come and go, tastes drift, clicks are "
        "late");
    if (has_page_) fmt::print("  the page: {}/\n", Address());
    fmt::print("                                         how well clicks are told apart (AUC)\n");
    fmt::print("  {:>5} {:>10} {:>7} {:>7} {:>8}   {:>8} {:>8} {:>10} {:>8}\n", "time",
               "requests/s", "p50 ms", "p99 ms", "fresh ms", "learning", "frozen", "retrained",
               "optimum");
    const auto views = std::max<int64_t>(2, static_cast<int64_t>(options_.seconds * options_.rate));
    const int64_t step = std::max<int64_t>(1, world_.NumberAt(kRetrainEvery));
    Traffic traffic(world_, Options(0));
    bool killed = false;
    for (int64_t done = 0; done < views;) {
      int64_t until = std::min(views, (done / step + 1) * step);
      if (!killed && until > views / 2) until = std::max<int64_t>(1, views / 2);
      traffic.WaitForViews(until);
      if (!killed && until >= views / 2) {
        KillAndRestart(traffic);
        killed = true;
      }
      done = until;
      if (done % step == 0 || done == views) Report(traffic, world_.TimeOf(done));
    }
    traffic.Stop();
    repeated_ = traffic.repeated_calls();
    last_view_ = views;
    Acknowledge(traffic);
  }

  void Acknowledge(const Traffic& traffic) {
    all_acknowledged_ = acknowledged_;
    const auto clicks = traffic.AcknowledgedClicks();
    all_acknowledged_.insert(all_acknowledged_.end(), clicks.begin(), clicks.end());
  }

  void Report(Traffic& traffic, double time) {
    TrafficMeasures measures = traffic.Take();
    answered_ += static_cast<int64_t>(measures.views.size());
    traffic_seconds_ += measures.duration;
    ServiceStatus status;
    Insist([&] { return client_->Status(status); });
    if (!status.problem.empty()) Fail("the service does not learn: {}", status.problem);
    const Ranking ranking = comparison_->Add(measures.views, time);
    fmt::print("  {:>5} {:>10.0f} {:>7.1f} {:>7.1f} {:>8.0f}   {} {:>8.3f} {:>10.3f} {:>8.3f}\n",
               Minutes(time), static_cast<double>(measures.views.size()) / measures.duration,
               Percentile(measures.seconds, 0.5) * 1e3, Percentile(measures.seconds, 0.99) * 1e3,
               status.freshness_p50 * 1e3,
               session_.out.Green(fmt::format("{:>8.3f}", ranking.learning)), ranking.frozen,
               ranking.retrained, ranking.optimum);
    std::fflush(stdout);
    seconds_.insert(seconds_.end(), measures.seconds.begin(), measures.seconds.end());
    freshness_ = status;
  }

  // What is acknowledged and not learned yet waits for its batch, milliseconds.
  LogAudit AuditSoon(const std::vector<AnswerRow>& acknowledged) {
    const auto begin = Steady::now();
    while (true) {
      const LogAudit audit = AuditLog(session_.fs, LogPath(), acknowledged);
      if (audit.learned == audit.acknowledged || Since(begin) > 10) return audit;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void KillAndRestart(Traffic& traffic) {
    const pid_t pid = service_->pid();
    const auto begin = Steady::now();
    traffic.Hold();
    service_->Kill();
    Acknowledge(traffic);
    fmt::print("  {}", session_.out.Red(fmt::format("SIGKILL to the service (process {})", pid)));
    std::fflush(stdout);
    const auto started = Steady::now();
    service_->Start();
    traffic.Resume();
    ServiceStatus status;
    Insist([&] { return client_->Status(status); });
    restart_seconds_ = Since(begin);
    start_seconds_ = Since(started);
    fmt::print("; it answers again after {:.2f} s, {:.2f} s of it as process {}\n",
               restart_seconds_, start_seconds_, service_->pid());
    if (has_page_) fmt::print("  the page goes on: {}/\n", Address());
    PrintAudit(AuditSoon(all_acknowledged_));
  }

  void PrintAudit(const LogAudit& audit) const {
    fmt::print("  clicks acknowledged {}, learned {}, lost {}, learned twice {}\n",
               audit.acknowledged, audit.learned, audit.lost, audit.twice);
    std::fflush(stdout);
  }

  void Verdict() {
    ServiceStatus status;
    Insist([&] { return client_->Commit(); });
    Insist([&] { return client_->Status(status); });
    audit_ = AuditSoon(all_acknowledged_);
    // The state's own count, which came through the crash with it, beside that of its log.
    agrees_ = status.examples == audit_.examples && status.steps == audit_.steps &&
              audit_.learned == audit_.acknowledged;
    std::sort(seconds_.begin(), seconds_.end());
    const Ranking all = comparison_->All();
    Title("The verdict");
    fmt::print(
        "  ranking    AUC {} while it learned; frozen {:.4f}, retrained every 5 minutes {:.4f},\n"
        "             the best that there can be {:.4f} ({} impressions)\n",
        session_.out.Green(fmt::format("{:.4f}", all.learning)), all.frozen, all.retrained,
        all.optimum, comparison_->examples());
    if (all.optimum > all.frozen) {
      const auto share = [&](double auc) {
        return 100 * (auc - all.frozen) / (all.optimum - all.frozen);
      };
      fmt::print(
          "             of what the frozen model misses, learning finds {:.0f} %, retraining "
          "{:.0f} %\n",
          share(all.learning), share(all.retrained));
    }
    fmt::print(
        "  speed      {:.0f} requests/s of 8 stories offered and answered; {:.1f} ms, 99 % within "
        "{:.1f} ms\n",
        static_cast<double>(answered_) / std::max(1e-9, traffic_seconds_),
        Percentile(seconds_, 0.5) * 1e3, Percentile(seconds_, 0.99) * 1e3);
    fmt::print("  freshness  {:.0f} ms from acknowledged to visible, 99 % within {:.0f} ms\n",
               freshness_.freshness_p50 * 1e3, freshness_.freshness_p99 * 1e3);
    fmt::print(
        "  crash      back {:.2f} s after SIGKILL, {:.2f} s after its start; {} calls made again\n",
        restart_seconds_, start_seconds_, repeated_);
    PrintAudit(audit_);
    if (!agrees_) {
      fmt::print("  {}\n",
                 session_.out.Red(fmt::format(
                     "the service has learned {} examples in {} steps; its log says {} in {}",
                     status.examples, status.steps, audit_.examples, audit_.steps)));
    }
  }

  void PrintNext() const {
    if (!options_.keep) fmt::print("\n  the service ends here; with --keep it goes on\n");
    Title(
        "Your own clicks: a CSV file with the columns user, group, topic, story, click\n"
        "(with others: examples/online-ctr)");
    fmt::print("  {} train examples/feed.ctm --data clicks.csv --out runs/feed\n",
               session_.program);
    fmt::print("  {} serve examples/feed.ctm --state runs/feed --learn --data-dir data\n",
               session_.program);
    fmt::print(
        "  curl -s localhost:8000/v2/models/feed/infer -d "
        "'{{\"rows\": [{{\"user\": 7, \"group\": 7, \"topic\": 5, \"story\": 42}}]}}'\n");
    std::fflush(stdout);
  }

  void GoOn() {
    Title(fmt::format("Serving at {} until Ctrl-C", Address()));
    std::fflush(stdout);
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    Traffic traffic(world_, Options(last_view_ + 1000));
    while (!interrupted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      traffic.Take();
    }
    traffic.Stop();
    service_->Stop();
    fmt::print("ended\n");
  }

  Session& session_;
  const FeedDemoOptions options_;
  ScratchDirectory scratch_;
  const std::string program_path_;
  const Simulator world_;
  const int64_t zero_time_ns_;
  std::optional<ProgramFile> program_;
  std::optional<Comparison> comparison_;
  std::optional<ServerProcess> service_;
  std::optional<ServiceClient> client_;
  ServiceStatus freshness_;
  std::vector<AnswerRow> acknowledged_;      // before the traffic
  std::vector<AnswerRow> all_acknowledged_;  // and of it
  std::vector<double> seconds_;
  int64_t answered_ = 0, repeated_ = 0, last_view_ = 0;
  double traffic_seconds_ = 0;
  double restart_seconds_ = 0;  // from the kill to an answer
  double start_seconds_ = 0;    // of those: since the old process was gone
  LogAudit audit_;
  bool agrees_ = false;
  bool has_page_ = false;
};

}  // namespace

ExitCode RunFeedDemo(Session& session, const FeedDemoOptions& options) {
  const auto demo = Outside([&] { return std::make_unique<FeedDemo>(session, options); });
  return demo->Run();
}

}  // namespace catamaran::cli
