#include "catamaran/exec/executable.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/base/small_vector.h"
#include "catamaran/base/suggest.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/profile.h"
#include "catamaran/exec/shape_instance.h"
#include "catamaran/ir/flatten.h"

namespace catamaran {

// What the arguments of one call say about sizes.
struct Executable::Binding {
  SmallVector<int64_t, 16> values;  // as Plan::names; -1: not bound yet
  SmallVector<const int64_t*, 16> offsets;
  SmallVector<int, 16> bound_by;  // the argument
};

namespace {

std::string Describe(const TensorView& tensor) {
  return fmt::format("{}{}", Name(tensor.dtype), tensor.shape.ToString());
}

template <class List>
size_t IndexByName(const List& list, std::string_view name, std::string_view function,
                   std::string_view what) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return i;
    names.push_back(list[i].name);
  }
  const std::string close = Suggest(name, names);
  Fail("{} has no {} {}{}", function, what, name,
       close.empty() ? "" : "; did you mean " + close + "?");
}

}  // namespace

std::shared_ptr<const Executable> Compile(const Program& flat, std::unique_ptr<Function> function,
                                          const CompileOptions& options) {
  if (options.threads < 1) Fail("Compile: threads is {}; wanted 1 or more", options.threads);
  if (options.max_shape_instances < 1) Fail("Compile: max_shape_instances is 0; wanted 1 or more");
  return std::make_shared<const Executable>(MakePlan(flat, std::move(function)), options);
}

std::shared_ptr<const Executable> Compile(const Program& flat, std::string_view function,
                                          const CompileOptions& options) {
  const Function* found = flat.items.FindFunction(function);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const Function* f : flat.Functions()) names.push_back(f->name);
    const std::string close = Suggest(function, names);
    Fail("program {} has no function {}{}", flat.name, function,
         close.empty() ? "" : "; did you mean " + close + "?");
  }
  return Compile(flat, InlineCalls(flat, *found), options);
}

Executable::Executable(std::unique_ptr<const Plan> plan, const CompileOptions& options)
    : options_(options), plan_(std::move(plan)), pool_(options.threads) {}

Executable::~Executable() = default;

size_t Executable::input_index(std::string_view input) const {
  return IndexByName(plan_->inputs, input, name(), "argument");
}

size_t Executable::output_index(std::string_view output) const {
  return IndexByName(plan_->outputs, output, name(), "result");
}

void Executable::FailInput(size_t i, const std::string& problem) const {
  const PlanInput& input = plan_->inputs[i];
  Fail("{}: argument {} : {}, declared at {}: {}", name(), input.name, input.type.ToString(),
       plan_->sources->ToString(input.at), problem);
}

// ---- Sizes.

void Executable::BindFeeds(std::span<const FeedValue> feeds, Binding& binding) const {
  const Plan& plan = *plan_;
  if (feeds.size() != plan.inputs.size()) {
    Fail("{} takes {} arguments; found {}", name(), plan.inputs.size(), feeds.size());
  }
  binding.values.assign(plan.names.size(), -1);
  binding.offsets.assign(plan.names.size(), nullptr);
  binding.bound_by.assign(plan.names.size(), -1);
  const auto bind = [&](size_t i, int name_index, int64_t size) {
    const auto n = static_cast<size_t>(name_index);
    if (binding.values[n] < 0) {
      binding.values[n] = size;
      binding.bound_by[n] = static_cast<int>(i);
    } else if (binding.values[n] != size) {
      FailInput(i, fmt::format("{} is {} here and {} in argument {}", plan.names[n].name, size,
                               binding.values[n],
                               plan.inputs[static_cast<size_t>(binding.bound_by[n])].name));
    }
  };
  for (size_t i = 0; i < feeds.size(); ++i) {
    const PlanInput& input = plan.inputs[i];
    const FeedValue& feed = feeds[i];
    if (feed.tensor.dtype != input.type.dtype() ||
        feed.tensor.shape.rank() != static_cast<int>(input.axes.size())) {
      FailInput(i,
                "found " + Describe(feed.tensor) +
                    (input.ragged >= 0 ? " (the values of all sequences, one after another)" : ""));
    }
    if (feed.tensor.data == nullptr && feed.tensor.num_elements() > 0) {
      FailInput(i, "it has no memory");
    }
    for (size_t axis = 0; axis < input.axes.size(); ++axis) {
      if (input.axes[axis].name >= 0) {
        bind(i, input.axes[axis].name, feed.tensor.shape[static_cast<int>(axis)]);
      }
    }
    if (input.ragged < 0) continue;
    if (feed.offsets != nullptr) {
      if (feed.num_offsets < 1) FailInput(i, "its offsets are empty");
      const int64_t total = feed.tensor.shape[0];
      bool rising = feed.offsets[0] == 0 && feed.offsets[feed.num_offsets - 1] == total;
      for (int64_t k = 1; k < feed.num_offsets; ++k) {
        rising = rising && feed.offsets[k - 1] <= feed.offsets[k];
      }
      if (!rising) {
        FailInput(i,
                  fmt::format("its offsets must rise from 0 to {}, the number of values", total));
      }
      if (input.rows >= 0) bind(i, input.rows, feed.num_offsets - 1);
      const int64_t*& shared = binding.offsets[static_cast<size_t>(input.ragged)];
      if (shared == nullptr) {
        shared = feed.offsets;
      } else if (shared != feed.offsets &&
                 std::memcmp(shared, feed.offsets,
                             static_cast<size_t>(feed.num_offsets) * sizeof(int64_t)) != 0) {
        FailInput(i, fmt::format("its offsets differ from those of another argument with *{}",
                                 plan.names[static_cast<size_t>(input.ragged)].name));
      }
    }
  }
  DeriveNames(plan, binding.values.data());
  // What is not a bare name is checked now that the names are known.
  for (size_t i = 0; i < feeds.size(); ++i) {
    const PlanInput& input = plan.inputs[i];
    for (size_t axis = 0; axis < input.axes.size(); ++axis) {
      if (input.axes[axis].name >= 0) continue;
      const int64_t found = feeds[i].tensor.shape[static_cast<int>(axis)];
      const int64_t wanted = EvaluateDim(plan, binding.values.data(), input.axes[axis].dim);
      if (found != wanted) {
        FailInput(i, fmt::format("found {}; its dimension {} must be {}", Describe(feeds[i].tensor),
                                 axis, wanted));
      }
    }
    if (input.ragged < 0) continue;
    if (binding.offsets[static_cast<size_t>(input.ragged)] == nullptr) {
      FailInput(i, "it is ragged and needs offsets");
    }
    if (feeds[i].offsets != nullptr && input.rows < 0) {
      const int64_t rows = EvaluateDim(plan, binding.values.data(), input.rows_dim);
      if (rows != feeds[i].num_offsets - 1) {
        FailInput(i, fmt::format("found {} sequences; wanted {}", feeds[i].num_offsets - 1, rows));
      }
    }
  }
}

std::shared_ptr<ShapeInstance> Executable::FindInstance(const Binding& binding) const {
  NameValues values;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& instance : instances_) {
      if (instance->Fits(binding.values.data())) {
        instance->last_used = ++tick_;
        return instance;
      }
    }
  }
  values.assign(binding.values.begin(), binding.values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (plan_->names[i].dynamic) {
      values[i] = static_cast<int64_t>(
          std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(16, values[i]))));
    }
  }
  DeriveNames(*plan_, values.data());
  // Made without the lock: it may take long. Two threads may make the same one; the first stays.
  auto made = std::make_shared<ShapeInstance>(*plan_, options_, std::move(values));
  const std::lock_guard lock(mutex_);
  for (const auto& instance : instances_) {
    if (instance->Fits(binding.values.data())) {
      instance->last_used = ++tick_;
      return instance;
    }
  }
  // One that the new one can stand in for is not needed any more.
  std::erase_if(instances_, [&](const auto& old) { return made->Fits(old->values().data()); });
  if (instances_.size() >= options_.max_shape_instances) {
    instances_.erase(
        std::min_element(instances_.begin(), instances_.end(),
                         [](const auto& a, const auto& b) { return a->last_used < b->last_used; }));
  }
  made->last_used = ++tick_;
  instances_.push_back(made);
  return made;
}

Frame* Executable::Prepare(std::span<const FeedValue> feeds) const {
  Binding binding;
  BindFeeds(feeds, binding);
  std::shared_ptr<ShapeInstance> instance = FindInstance(binding);
  std::unique_ptr<Frame> frame = instance->TakeFrame();
  for (size_t i = 0; i < plan_->names.size(); ++i) {
    if (plan_->names[i].dynamic) frame->SetOffsets(static_cast<int>(i), binding.offsets[i]);
  }
  frame->Bind(std::move(instance), binding.values.data(), feeds);
  return frame.release();
}

// ---- Running.

// The caller of a synchronous run, until it is done.
struct Executable::Waiter {
  RunStatus status;
  std::exception_ptr error;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done = false;
  std::atomic<bool> left = false;  // nobody else touches this or the pool any more
  ThreadPool* pool = nullptr;      // when the caller helps with tasks meanwhile

  static void OnDone(void* context, const RunStatus& status, std::exception_ptr error) {
    Waiter& self = *static_cast<Waiter*>(context);
    self.status = status;
    self.error = std::move(error);
    if (self.pool != nullptr) {
      self.done.store(true, std::memory_order_release);
      self.pool->Notify();
      self.left.store(true, std::memory_order_release);
      return;
    }
    const std::lock_guard lock(self.mutex);
    self.done.store(true, std::memory_order_release);
    self.changed.notify_one();
  }

  void Wait() {
    if (pool != nullptr) {
      pool->RunTasksUntil([this] { return done.load(std::memory_order_acquire); });
      while (!left.load(std::memory_order_acquire)) std::this_thread::yield();
      return;
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return done.load(std::memory_order_acquire); });
  }
};

RunStatus Executable::RunFrame(Frame* frame, State& state, const RunOptions& options) const {
  Waiter waiter;
  if (options_.schedule == Schedule::kReadyOps && options_.threads > 1) waiter.pool = &pool_;
  const uint64_t begin = options.profile != nullptr ? Ticks() : 0;
  frame->Start(state, options, pool_, {&Waiter::OnDone, &waiter});
  waiter.Wait();
  if (options.profile != nullptr) options.profile->TraceRun(*plan_, begin);
  if (waiter.error) std::rethrow_exception(std::move(waiter.error));
  return waiter.status;
}

namespace {

void CheckState(const Plan& plan, const State& state) {
  if (state.fingerprint() == plan.state_fingerprint) return;
  Fail("{}: the state was made from a program with other declarations", plan.function_name);
}

// Gives the frame back when the run does not begin.
class PreparedFrame {
 public:
  explicit PreparedFrame(Frame* frame) : frame_(frame) {}
  ~PreparedFrame() {
    if (frame_ != nullptr) frame_->Abandon();
  }
  PreparedFrame(const PreparedFrame&) = delete;
  PreparedFrame& operator=(const PreparedFrame&) = delete;
  Frame* operator->() const { return frame_; }
  Frame* release() { return std::exchange(frame_, nullptr); }

 private:
  Frame* frame_;
};

void SetFetches(Frame& frame, const Plan& plan, std::span<FetchBuffer> fetches) {
  if (!fetches.empty() && fetches.size() != plan.outputs.size()) {
    Fail("{} has {} results; found {} buffers", plan.function_name, plan.outputs.size(),
         fetches.size());
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    fetches[i].shape = frame.output_shape(i);
    const FetchBuffer& fetch = fetches[i];
    if (fetch.data || fetch.final_shape || fetch.offsets) frame.SetFetch(i, fetch);
  }
}

}  // namespace

RunStatus Executable::Run(State& state, std::span<const FeedValue> feeds,
                          std::span<FetchBuffer> fetches, const RunOptions& options) const {
  CheckState(*plan_, state);
  PreparedFrame frame(Prepare(feeds));
  SetFetches(*frame.operator->(), *plan_, fetches);
  return RunFrame(frame.release(), state, options);
}

void Executable::RunAsync(State& state, std::span<const FeedValue> feeds,
                          std::span<FetchBuffer> fetches, const RunOptions& options,
                          RunDone done) const {
  CheckState(*plan_, state);
  PreparedFrame frame(Prepare(feeds));
  SetFetches(*frame.operator->(), *plan_, fetches);
  frame.release()->Start(state, options, pool_, done);
}

RunResult Executable::Run(State& state, std::span<const FeedValue> feeds,
                          const RunOptions& options) const {
  CheckState(*plan_, state);
  PreparedFrame frame(Prepare(feeds));
  RunResult result;
  std::vector<Shape> shapes(plan_->outputs.size());
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const Type& type = plan_->outputs[i].type;
    result.outputs.emplace_back();
    result.offsets.emplace_back();
    if (!type.is_tensor()) continue;
    Tensor& out = result.outputs.back() = Tensor::Allocate(type.dtype(), frame->output_shape(i));
    FetchBuffer fetch;
    fetch.data = out.mutable_raw_data();
    fetch.capacity = out.num_bytes();
    fetch.final_shape = &shapes[i];
    if (const int64_t count = frame->output_num_offsets(i)) {
      result.offsets.back() = Tensor::Allocate(DType::kI64, {count});
      fetch.offsets = result.offsets.back().mutable_data<int64_t>().data();
    }
    frame->SetFetch(i, fetch);
  }
  const RunStatus status = RunFrame(frame.release(), state, options);
  for (size_t i = 0; i < shapes.size(); ++i) {
    Tensor& out = result.outputs[i];
    if (!plan_->outputs[i].type.is_tensor() || out.shape() == shapes[i]) continue;
    // It is smaller than it might have been: the first elements of the buffer.
    out = out.Reshape({out.num_elements()})
              .SliceLeading(0, shapes[i].num_elements())
              .Reshape(shapes[i]);
  }
  static_cast<RunStatus&>(result) = status;
  return result;
}

RunResult Executable::Run(State& state, const std::map<std::string, Tensor>& feeds,
                          const RunOptions& options) const {
  std::vector<FeedValue> by_index;
  size_t used = 0;
  for (const PlanInput& input : plan_->inputs) {
    const auto found = feeds.find(input.name);
    if (found == feeds.end()) FailInput(by_index.size(), "it was not fed");
    ++used;
    FeedValue feed(found->second);
    if (const auto offsets = feeds.find(input.name + ".offsets");
        offsets != feeds.end() && input.ragged >= 0) {
      ++used;
      if (offsets->second.dtype() != DType::kI64) {
        FailInput(by_index.size(), "its offsets must be i64");
      }
      feed = FeedValue(found->second, offsets->second);
    }
    by_index.push_back(feed);
  }
  if (used != feeds.size()) {
    for (const auto& [feed_name, tensor] : feeds) {
      const bool offsets = feed_name.ends_with(".offsets");
      const size_t i = input_index(
          offsets ? std::string_view(feed_name).substr(0, feed_name.size() - 8) : feed_name);
      if (offsets && plan_->inputs[i].ragged < 0) FailInput(i, "it is not ragged; found offsets");
    }
  }
  return Run(state, by_index, options);
}

// ---- Tools.

size_t Executable::num_shape_instances() const {
  const std::lock_guard lock(mutex_);
  return instances_.size();
}

size_t Executable::ArenaBytes(std::span<const FeedValue> feeds) const {
  Binding binding;
  BindFeeds(feeds, binding);
  return FindInstance(binding)->arena_bytes();
}

std::vector<std::string> Executable::KernelChoices(std::span<const FeedValue> feeds) const {
  Binding binding;
  BindFeeds(feeds, binding);
  const auto instance = FindInstance(binding);
  std::vector<std::string> choices;
  for (size_t i = 0; i < plan_->nodes.size(); ++i) {
    const Kernel* kernel = instance->kernels()[i].kernel;
    if (kernel != nullptr) {
      choices.push_back(plan_->nodes[i].op->name() + ": " + kernel->name);
    }
  }
  return choices;
}

}  // namespace catamaran
