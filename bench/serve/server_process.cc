#include "bench/serve/server_process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr auto kPatience = std::chrono::minutes(2);

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool Listens(int port) {
  const sockaddr_in address = Loopback(port);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool yes = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return yes;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int FreePort() {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!ok) Fail("no free port: {}", std::strerror(errno));
  return ntohs(address.sin_port);
}

std::string ProgramDirectory() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) Fail("this program does not know where it is: {}", std::strerror(errno));
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/'));
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, const std::string& output)
    : output_(output) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) Fail("{}: cannot be written: {}", output, std::strerror(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only what may be called between fork and exec.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(log);
  if (pid_ < 0) Fail("{} cannot be started: {}", command[0], std::strerror(errno));
}

ServerProcess::~ServerProcess() { Kill(); }

void ServerProcess::AwaitPort(int port) {
  const auto begin = std::chrono::steady_clock::now();
  while (!Listens(port)) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      Fail("the server ended before it was ready; it said:\n{}", Said());
    }
    if (std::chrono::steady_clock::now() - begin > kPatience) {
      Fail("the server does not listen after two minutes; it said:\n{}", Said());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void ServerProcess::Kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void ServerProcess::Stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

double ServerProcess::ProcessorSeconds() const {
  uint64_t ticks = 0;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return 0;
  while (const dirent* entry = ::readdir(all)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string stat = ReadFile(std::string("/proc/") + entry->d_name + "/stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat.substr(name_end + 1));
    std::string state;
    int64_t parent = 0, group = 0, skipped = 0;
    uint64_t user = 0, system = 0;
    fields >> state >> parent >> group;
    if (group != pid_) continue;
    for (int i = 0; i < 8; ++i) fields >> skipped;
    fields >> user >> system;
    ticks += user + system;
  }
  ::closedir(all);
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string ServerProcess::Said() const {
  const std::string said = ReadFile(output_);
  return said.size() > 4000 ? said.substr(said.size() - 4000) : said;
}

}  // namespace catamaran::bench
