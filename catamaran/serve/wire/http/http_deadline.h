// serve/wire/http/http_deadline.h
//
// When a connection has had enough time. Moving it further away, which every request does, costs a
// look at the clock: the timer beneath is set again only when it goes off too early, or is to go
// off earlier.
//
// For http_session.h only: it includes Boost. Thread safety: for the loop of its connection.

#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <utility>

namespace catamaran::http_internal {

using LoopExecutor = boost::asio::io_context::executor_type;
using LoopTimer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, LoopExecutor>;

// Calls owner->OnDeadline() when it has passed; does not keep its owner alive.
template <class Owner>
class Deadline {
 public:
  explicit Deadline(const LoopExecutor& executor) : timer_(executor) {}

  void After(std::chrono::milliseconds time, const std::shared_ptr<Owner>& owner) {
    at_ = Clock::now() + time;
    if (at_ < timer_at_) SetTimer(owner);
  }
  void Never() { at_ = Time::max(); }
  // For good.
  void Cancel() {
    Never();
    timer_.cancel();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  void SetTimer(const std::weak_ptr<Owner>& weak) {
    timer_at_ = at_;
    timer_.expires_at(at_);
    timer_.async_wait([weak](const boost::system::error_code& error) {
      const std::shared_ptr<Owner> owner = error ? nullptr : weak.lock();
      if (owner != nullptr) owner->deadline().OnTimer(owner);
    });
  }

  void OnTimer(const std::shared_ptr<Owner>& owner) {
    timer_at_ = Time::max();
    if (at_ <= Clock::now()) {
      Never();
      owner->OnDeadline();
    } else if (at_ != Time::max()) {
      SetTimer(owner);
    }
  }

  LoopTimer timer_;
  Time at_ = Time::max();
  Time timer_at_ = Time::max();  // when it goes off; max: it does not
};

}  // namespace catamaran::http_internal
