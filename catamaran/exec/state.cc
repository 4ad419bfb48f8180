#include "catamaran/exec/state.h"

#include <chrono>
#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/base/suggest.h"
#include "catamaran/exec/initializer.h"
#include "catamaran/exec/table_settings.h"

namespace catamaran {

class State::Turn {
 public:
  explicit Turn(const State& state, int64_t deadline = 0) : state_(state) {
    state_.TakeTurn(deadline);
  }
  ~Turn() { state_.GiveTurn(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const State& state_;
};

bool IsVersioned(const StateDecl& decl) {
  if (decl.kind != StateKind::kParam && decl.kind != StateKind::kVar) return false;
  const bool* slot = FindAttr(decl.settings, "slot").get<bool>();
  return slot == nullptr || !*slot;
}

State::State(uint64_t seed, const StateOptions& options)
    : seed_(seed),
      policy_(options.publish),
      clock_(options.clock),
      versions_(options.max_versions) {}

State::~State() = default;

std::unique_ptr<State> State::Create(const Program& flat, uint64_t seed,
                                     const StateOptions& options) {
  if (options.max_versions < 2) {
    Fail("a State needs max_versions of 2 at least; found {}", options.max_versions);
  }
  if (options.publish.every_steps < 1) {
    Fail("a State publishes every 1 step or more; found {}", options.publish.every_steps);
  }
  std::unique_ptr<State> state(new State(seed, options));
  for (const StateDecl* decl : flat.States()) {
    Entry entry;
    entry.kind = decl->kind;
    entry.name = decl->name;
    entry.at = decl->at;
    entry.versioned = IsVersioned(*decl);
    switch (decl->kind) {
      case StateKind::kParam:
      case StateKind::kVar:
        entry.head = InitialValue(*decl, seed, flat.sources());
        entry.shape = entry.head.shape();
        break;
      case StateKind::kTable: {
        TableDeclaration declared = TableDeclarationOf(*decl, seed, flat.sources());
        const auto kept = options.table_seeds.find(decl->name);
        if (kept != options.table_seeds.end()) declared.config.seed = kept->second;
        entry.shape = Shape{declared.config.width};
        try {
          entry.table = MakeTable(declared, decl->name, options.tables, state->scratch_);
        } catch (const Error& error) {
          Fail(error.code(), "{}: table @{}: {}", flat.sources().ToString(decl->at), decl->name,
               error.what());
        }
        break;
      }
      case StateKind::kChannel:
        break;
    }
    state->by_name_.emplace(entry.name, state->entries_.size());
    state->entries_.push_back(std::move(entry));
  }
  state->publishable_.resize(state->entries_.size());
  state->fingerprint_ = Fingerprint(flat);
  return state;
}

uint64_t State::Fingerprint(const Program& flat) {
  uint64_t hash = 0;
  for (const StateDecl* decl : flat.States()) {
    hash = HashCombine(hash, static_cast<uint64_t>(decl->kind));
    hash = HashString(decl->name, hash);
    hash = HashString(decl->type.ToString(), hash);
    hash = HashCombine(hash, IsVersioned(*decl));
  }
  return hash;
}

StateInfo State::InfoOf(const Entry& entry) const {
  return {entry.kind, entry.name, entry.head.dtype(), entry.shape, entry.versioned, entry.at};
}

StateInfo State::info(size_t i) const { return InfoOf(entries_.at(i)); }

int State::Find(std::string_view path) const {
  const auto found = by_name_.find(path);
  return found == by_name_.end() ? -1 : static_cast<int>(found->second);
}

const State::Entry& State::FindDense(std::string_view path) const {
  const int i = Find(path);
  if (i < 0) {
    std::vector<std::string_view> names;
    for (const Entry& entry : entries_) names.push_back(entry.name);
    const std::string close = Suggest(path, names);
    Fail("there is no state @{}{}", path, close.empty() ? "" : "; did you mean @" + close + "?");
  }
  const Entry& entry = entries_[static_cast<size_t>(i)];
  if (entry.kind != StateKind::kParam && entry.kind != StateKind::kVar) {
    Fail("@{} is a {} and has no tensor", path, StateKindName(entry.kind));
  }
  return entry;
}

Tensor State::GetTensor(std::string_view path) const {
  const Entry& entry = FindDense(path);
  const Turn turn(*this);
  return entry.head.Clone();
}

void State::SetTensor(std::string_view path, const Tensor& value) {
  Entry& entry = const_cast<Entry&>(FindDense(path));
  if (value.dtype() != entry.head.dtype() || value.shape() != entry.shape) {
    Fail("@{} is {}{}; found {}{}", path, Name(entry.head.dtype()), entry.shape.ToString(),
         Name(value.dtype()), value.shape().ToString());
  }
  const Turn turn(*this);
  if (value.num_bytes() > 0) {
    std::memcpy(entry.head.mutable_raw_data(), value.raw_data(), value.num_bytes());
  }
  entry.changed = true;
  if (versions_.published()) PublishWithTurn();
}

void State::ForEach(FunctionRef<void(const StateInfo&, const Tensor&)> visit) const {
  const Turn turn(*this);
  for (const Entry& entry : entries_) {
    if (entry.kind == StateKind::kParam || entry.kind == StateKind::kVar) {
      visit(InfoOf(entry), entry.head);
    }
  }
}

void State::SetStep(int64_t step) { SetStep(step, event_time()); }

void State::SetStep(int64_t step, int64_t event_time) {
  const Turn turn(*this);
  event_time_.store(event_time, std::memory_order_release);
  step_.store(step, std::memory_order_release);
  if (versions_.published()) PublishWithTurn();
}

DurableTable& State::table(std::string_view path) const {
  const int i = Find(path);
  if (i < 0 || entries_[static_cast<size_t>(i)].table == nullptr) {
    Fail("there is no table @{}", path);
  }
  return *entries_[static_cast<size_t>(i)].table;
}

State::Pinned::Pinned(Pinned&& other) noexcept
    : pool_(other.pool_), version_(std::exchange(other.version_, nullptr)) {}

State::Pinned& State::Pinned::operator=(Pinned&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pool_ = other.pool_;
  version_ = std::exchange(other.version_, nullptr);
  return *this;
}

void State::Pinned::Release() {
  if (version_ != nullptr) pool_->Unpin(std::exchange(version_, nullptr));
}

State::Pinned State::Pin(int64_t deadline) {
  Pinned pinned;
  pinned.pool_ = &versions_;
  pinned.version_ = versions_.Pin();
  if (pinned.version_ == nullptr) {
    const Turn turn(*this, deadline);
    if (!versions_.published()) PublishWithTurn();
    pinned.version_ = versions_.Pin();
  }
  return pinned;
}

bool State::Publish() {
  const Turn turn(*this);
  return PublishWithTurn();
}

bool State::PublishWithTurn() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    publishable_[i] = {static_cast<const std::byte*>(entry.head.raw_data()), entry.head.num_bytes(),
                       entry.versioned, entry.changed};
  }
  if (!versions_.Publish(publishable_, step())) return false;
  for (Entry& entry : entries_) entry.changed = false;
  published_step_ = step();
  if (policy_.every_nanoseconds > 0) published_at_ = clock_->Now();
  return true;
}

void State::Break(const std::string& why) noexcept {
  try {
    broken_why_ = why;
  } catch (...) {
    // No memory to copy the reason; the flag is set all the same.
  }
  broken_.store(true, std::memory_order_release);
}

void State::CheckWhole() const {
  if (!broken_.load(std::memory_order_acquire)) return;
  Fail(ErrorCode::kInternal,
       "the state is not whole, and can be neither trained nor saved: {}; go on from the last "
       "commit",
       broken_why_);
}

void State::FinishStep(int64_t event_time) noexcept {
  const int64_t now = step_.load(std::memory_order_relaxed) + 1;
  event_time_.store(event_time, std::memory_order_release);
  step_.store(now, std::memory_order_release);
  if (!versions_.published()) return;  // nobody reads
  if (now - published_step_ < policy_.every_steps) return;
  if (policy_.every_nanoseconds > 0 && clock_->Now() - published_at_ < policy_.every_nanoseconds) {
    return;
  }
  try {
    PublishWithTurn();
  } catch (...) {
    versions_.CountSkipped();  // no memory for the copy; the next step tries again
  }
}

void State::TakeTurn(int64_t deadline) const {
  std::unique_lock lock(turn_mutex_);
  if (!turn_taken_) {
    turn_taken_ = true;
    return;
  }
  Waiter waiter;
  Waiter** last = &first_waiter_;
  while (*last != nullptr) last = &(*last)->next;
  *last = &waiter;
  const auto has_turn = [&] { return waiter.has_turn; };
  if (deadline == 0) {
    waiter.came.wait(lock, has_turn);
    return;
  }
  const std::chrono::nanoseconds left(std::max<int64_t>(0, deadline - clock_->Now()));
  if (!waiter.came.wait_for(lock, left, has_turn)) {
    Waiter** at = &first_waiter_;
    while (*at != &waiter) at = &(*at)->next;
    *at = waiter.next;
    Fail(ErrorCode::kCancelled,
         "the deadline passed while a run waited for its turn to write the state");
  }
}

void State::GiveTurn() const {
  // Under the lock: whoever takes the turn next may destroy the State.
  const std::lock_guard lock(turn_mutex_);
  if (first_waiter_ == nullptr) {
    turn_taken_ = false;
    return;
  }
  Waiter& next = *first_waiter_;
  first_waiter_ = next.next;
  next.has_turn = true;
  next.came.notify_one();
}

State::Saver::Saver(State& state) : state_(&state) {
  if (state.has_saver_.exchange(true, std::memory_order_acq_rel)) {
    Fail("the state has a saver already: what changed since the last commit is told to one");
  }
}

}  // namespace catamaran
