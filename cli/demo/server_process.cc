#include "cli/demo/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "catamaran/base/error.h"

namespace catamaran::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kLookAgain = std::chrono::milliseconds(2);

// The port behind the last colon of the line that begins with `word`; 0 if there is none.
int PortOf(const std::string& text, const std::string& word) {
  const size_t line = text.find("\n" + word);
  if (line == text.npos) return 0;
  const size_t end = text.find('\n', line + 1);
  if (end == text.npos) return 0;
  const size_t colon = text.rfind(':', end);
  return colon < line ? 0 : std::atoi(text.substr(colon + 1, end - colon - 1).c_str());
}

}  // namespace

ServerProcess::~ServerProcess() { End(SIGTERM); }

void ServerProcess::Spawn() {
  std::vector<std::string> words = {"catamaran", "serve"};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.insert(words.end(), {"--http", fmt::format("127.0.0.1:{}", http_port_), "--grpc",
                             fmt::format("127.0.0.1:{}", grpc_port_)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int output = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (output < 0) Fail("{}: cannot be written: {}", output_, std::strerror(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only what may be called between fork and exec.
    ::setpgid(0, 0);  // Ctrl-C is for the demo, which ends it in order
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  ::close(output);
  if (pid_ < 0) {
    pid_ = 0;
    Fail("the service cannot be started: {}", std::strerror(errno));
  }
}

bool ServerProcess::ReadReady() {
  const std::string said = "\n" + fs_.ReadAll(output_);
  if (said.find("\nready") == said.npos) return false;
  http_port_ = PortOf(said, "HTTP");
  grpc_port_ = PortOf(said, "gRPC");
  if (http_port_ == 0) Fail("the service does not say where it is:\n{}", fs_.ReadAll(output_));
  return true;
}

void ServerProcess::Start() {
  Spawn();
  const auto begin = std::chrono::steady_clock::now();
  while (!ReadReady()) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      Fail("the service ended before it was ready; it said:\n{}", fs_.ReadAll(output_));
    }
    if (std::chrono::steady_clock::now() - begin > kPatience) {
      End(SIGKILL);
      Fail("the service was not ready after a minute; it said:\n{}", fs_.ReadAll(output_));
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

void ServerProcess::End(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

void ServerProcess::Kill() { End(SIGKILL); }
void ServerProcess::Stop() { End(SIGTERM); }

}  // namespace catamaran::cli
