#include "catamaran/data/pipeline/pipeline.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "catamaran/base/clock.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/start_thread.h"
#include "catamaran/base/trace.h"
#include "catamaran/data/part_rows.h"
#include "catamaran/data/pipeline/batch_rule.h"
#include "catamaran/data/pipeline/chunk_order.h"
#include "catamaran/data/pipeline/chunk_reader.h"
#include "catamaran/data/pipeline/planner.h"

namespace catamaran {

class Pipeline::Impl {
 public:
  Impl(OpenRows open, BadRowOptions bad_rows, PipelineOptions options)
      : open_(std::move(open)),
        bad_rows_(std::move(bad_rows)),
        options_(std::move(options)),
        first_reader_(std::make_unique<ChunkReader>(open_)),
        reader_schema_(first_reader_->reader().schema()),
        schema_(options_.transform ? options_.transform->schema() : reader_schema_),
        rule_(BatchRuleOf(options_, schema_)),
        parts_(first_reader_->reader().num_parts()),
        chunk_rows_(PartRows(reader_schema_)),
        order_(rule_, parts_, options_.epochs),
        planner_(rule_, options_.epochs, bad_rows_.limit) {
    if (options_.transform) {
      for (const std::string& name : options_.transform->inputs()) {
        reader_schema_.Index(name, "pipeline: the features");
      }
      key_.transform = options_.transform->hash();
    }
    key_.any_transform = options_.allow_other_transform;
    options_.prefetch = std::max(options_.prefetch, 1);
    key_.data = HashString(first_reader_->reader().position().bytes, reader_schema_.hash());
    key_.parts = parts_;
    key_.shuffle_window = rule_.shuffle_window;
    if (rule_.shuffle_window > 0) key_.seed = rule_.seed;
    if (rule_.bucket) {
      key_.bucketed_rows = rule_.rows;
      key_.bucketed_tokens = rule_.tokens;
      key_.bucket_column = options_.token_column;
    }
    Restart({});
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const Schema& schema() const { return schema_; }

  const Batch* Next() {
    std::vector<std::string> reports;
    {
      std::unique_lock lock(mutex_);
      if (options_.threads > 0 && threads_.empty()) StartThreads();
      WaitForBatch(lock);
      Slot& slot = slots_.front();
      stats_.bad_rows = slot.plan.bad_rows;
      reports = std::exchange(slot.plan.reports, {});
      if (slot.plan.error || slot.plan.end) {
        const std::exception_ptr error = slot.plan.error;
        lock.unlock();
        Report(reports);
        if (error) std::rethrow_exception(error);
        return nullptr;
      }
      std::swap(current_, slot.batch);
      place_ = std::move(slot.plan.after);
      free_batches_.push_back(std::move(slot.batch));
      slots_.pop_front();
      ++stats_.batches;
      stats_.rows += current_.rows.rows();
      PlanBatches();
      work_.notify_one();
    }
    Report(reports);
    return &current_;
  }

  Position position() const { return ToPosition(place_, key_); }

  void Seek(const Position& position) {
    const Place place = FromPosition(position, key_);
    std::unique_lock lock(mutex_);
    paused_ = true;
    settled_.wait(lock, [&] { return active_ == 0; });
    try {
      Restart(place);
    } catch (...) {
      Restart(Place(place_));
      paused_ = false;
      work_.notify_all();
      throw;
    }
    paused_ = false;
    work_.notify_all();
  }

  PipelineStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  // A batch that is planned, being made, or ready for the consumer.
  struct Slot {
    BatchPlan plan;
    Batch batch;
    enum { kPlanned, kBeingMade, kMade, kReady } state = kPlanned;
  };
  // A chunk that is being read, or was read before one that comes earlier.
  struct Reading {
    std::shared_ptr<Chunk> chunk;
    bool done = false;
  };
  struct Worker {
    std::unique_ptr<ChunkReader> reader;  // of data in parts
    RawRows raw;
  };
  using Lock = std::unique_lock<std::mutex>;

  void Report(const std::vector<std::string>& messages) {
    if (!bad_rows_.report) return;
    for (const std::string& message : messages) bad_rows_.report(message);
  }

  // --- the consumer ---

  bool FirstIsReady() const { return !slots_.empty() && slots_.front().state == Slot::kReady; }

  void WaitForBatch(Lock& lock) {
    const bool first = std::exchange(first_, false);
    if (options_.threads > 0 && FirstIsReady()) return;
    const int64_t begin = SteadyClock().Now();
    if (options_.threads > 0) {
      ready_.wait(lock, [&] { return FirstIsReady() || failure_; });
      if (failure_) std::rethrow_exception(failure_);
    } else {
      // As far ahead as threads would be.
      while (!(AllPlanned() && std::ranges::all_of(slots_, [](const Slot& slot) {
                 return slot.state == Slot::kReady;
               }))) {
        CATAMARAN_CHECK(RunJob(lock, consumer_));
      }
    }
    const int64_t waited = SteadyClock().Now() - begin;
    (first ? stats_.first_wait_ns : stats_.wait_ns) += waited;
    if (!first) ++stats_.waits;
  }

  // --- what is to be read, and where ---

  // REQUIRES: no job is active.
  void Restart(const Place& place) {
    slots_.clear();
    reading_.clear();
    planned_all_ = false;
    order_.Restart(place);
    if (parts_ == 0) first_reader_->reader().Seek(place.reader);
    planner_.Restart(place);
    place_ = place;
    first_ = true;
    PlanBatches();
  }

  bool MayRead() const {
    if (order_.done() || planned_all_ || (parts_ == 0 && reader_busy_)) return false;
    if (static_cast<int>(slots_.size()) < options_.prefetch && planner_.needs_chunks()) return true;
    if (options_.threads == 0) return false;
    // What is in memory beyond the batches: a window that goes into batches and the next one; or,
    // in order, a chunk or two a thread.
    const int64_t ahead = rule_.shuffle_window > 0
                              ? planner_.windows()
                              : planner_.windows() + static_cast<int64_t>(reading_.size());
    return ahead < (rule_.shuffle_window > 0 ? 2 : options_.threads + 1);
  }

  // --- jobs ---

  bool AllPlanned() const {
    return planned_all_ || static_cast<int>(slots_.size()) >= options_.prefetch;
  }

  void PlanBatches() {
    while (!AllPlanned()) {
      std::optional<BatchPlan> plan = planner_.Plan();
      if (!plan) return;
      Slot& slot = slots_.emplace_back();
      slot.plan = std::move(*plan);
      if (slot.plan.end || slot.plan.error) {
        slot.state = Slot::kReady;
        planned_all_ = true;
        ready_.notify_one();
      }
    }
  }

  Slot* PlannedSlot() {
    for (Slot& slot : slots_) {
      if (slot.state == Slot::kPlanned) return &slot;
    }
    return nullptr;
  }

  // Does the most urgent thing that there is to do; false if there is none. The lock is free while
  // it does it.
  bool RunJob(Lock& lock, Worker& worker) {
    if (Slot* slot = PlannedSlot()) {
      const TraceSpan span(options_.trace, make_batch_);
      MakeBatch(lock, *slot);
    } else if (const std::shared_ptr<Window> window = planner_.TakeUnarranged()) {
      const TraceSpan span(options_.trace, arrange_);
      Arrange(lock, *window);
    } else if (MayRead()) {
      const TraceSpan span(options_.trace, read_);
      ReadChunk(lock, worker);
    } else {
      return false;
    }
    return true;
  }

  // Work that runs without the lock.
  template <class F>
  void Unlocked(Lock& lock, F work) {
    ++active_;
    // Whoever is woken takes the next job, or goes back to sleep.
    if (options_.threads > 1) work_.notify_one();
    lock.unlock();
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (--active_ == 0) settled_.notify_all();
    if (error) std::rethrow_exception(error);
  }

  void MakeBatch(Lock& lock, Slot& slot) {
    slot.state = Slot::kBeingMade;
    if (!free_batches_.empty()) {
      slot.batch = std::move(free_batches_.back());
      free_batches_.pop_back();
    }
    Unlocked(lock, [&] {
      try {
        slot.batch.epoch = slot.plan.after.epoch;
        slot.batch.index = slot.plan.after.batch - 1;
        slot.batch.rows.Begin(schema_);
        for (const BatchPlan::Rows& rows : slot.plan.rows) {
          rows.window->Append(rows.begin, rows.end, slot.batch.rows);
        }
      } catch (...) {
        slot.plan.error = std::current_exception();
      }
    });
    ReleaseRows(slot.plan);
    slot.state = Slot::kMade;
    Announce(lock);
  }

  // Chunks that nobody needs any more are used again.
  void ReleaseRows(BatchPlan& plan) {
    for (BatchPlan::Rows& rows : plan.rows) {
      if (rows.window.use_count() > 1) continue;
      for (std::shared_ptr<Chunk>& chunk : rows.window->chunks()) {
        if (chunk.use_count() == 1) free_chunks_.push_back(std::move(chunk));
      }
    }
    plan.rows.clear();
  }

  // Makes made batches ready, in order.
  void Announce(Lock& lock) {
    if (announcing_) return;
    announcing_ = true;
    for (;;) {
      const auto slot =
          std::ranges::find_if(slots_, [](const Slot& s) { return s.state != Slot::kReady; });
      if (slot == slots_.end() || slot->state != Slot::kMade) break;
      if (options_.ahead && !slot->plan.error) {
        Slot& made = *slot;
        Unlocked(lock, [&] {
          try {
            options_.ahead(made.batch.rows);
          } catch (...) {
            made.plan.error = std::current_exception();
          }
        });
        made.state = Slot::kReady;
      } else {
        slot->state = Slot::kReady;
      }
      ready_.notify_one();
    }
    announcing_ = false;
  }

  void Arrange(Lock& lock, Window& window) {
    std::exception_ptr error;
    Unlocked(lock, [&] {
      try {
        window.Arrange(rule_);
      } catch (...) {
        error = std::current_exception();
      }
    });
    planner_.Arranged(window, error);
    PlanBatches();
  }

  void ReadChunk(Lock& lock, Worker& worker) {
    Reading& reading = reading_.emplace_back();
    if (free_chunks_.empty()) {
      reading.chunk = std::make_shared<Chunk>();
    } else {
      reading.chunk = std::move(free_chunks_.back());
      free_chunks_.pop_back();
    }
    Chunk& chunk = *reading.chunk;
    const ChunkOrder::Next next = order_.Take();
    chunk.epoch = next.epoch;
    chunk.number = next.chunk;
    chunk.start = {};
    chunk.error = nullptr;
    chunk.bad.clear();
    chunk.end = false;
    if (parts_ > 0) {
      ReadPart(lock, worker, next.part, chunk);
    } else {
      ReadNext(lock, worker, chunk);
    }
    if (chunk.error) order_.Stop();
    reading.done = true;
    while (!reading_.empty() && reading_.front().done) {
      planner_.Add(std::move(reading_.front().chunk));
      reading_.pop_front();
    }
    PlanBatches();
  }

  void ReadPart(Lock& lock, Worker& worker, std::optional<int64_t> part, Chunk& chunk) {
    if (!part) {
      chunk.end = true;
      chunk.rows.Begin(schema_);
      return;
    }
    if (!worker.reader && !first_reader_taken_) {
      first_reader_taken_ = true;
      worker.reader = std::move(first_reader_);
    }
    Unlocked(lock, [&] {
      try {
        if (!worker.reader) worker.reader = OpenAnother();
        worker.reader->ReadPart(*part, with_places(), worker.raw);
      } catch (...) {
        worker.raw.error = std::current_exception();
      }
      Transform(worker.raw, chunk);
    });
  }

  void ReadNext(Lock& lock, Worker& worker, Chunk& chunk) {
    reader_busy_ = true;
    bool more = true;
    Unlocked(lock, [&] {
      RowReader& reader = first_reader_->reader();
      try {
        if (chunk.number == 0) reader.Seek({});
        chunk.start = reader.position();
        more = first_reader_->ReadNext(chunk_rows_, with_places(), worker.raw);
      } catch (...) {
        worker.raw.error = std::current_exception();
      }
    });
    if (worker.raw.error) order_.Stop();
    // Bad rows at the end belong to a chunk without rows.
    if (!more && worker.raw.bad.empty()) chunk.end = true;
    if (chunk.end) order_.EndEpoch();
    reader_busy_ = false;
    Unlocked(lock, [&] { Transform(worker.raw, chunk); });
  }

  std::unique_ptr<ChunkReader> OpenAnother() const {
    auto reader = std::make_unique<ChunkReader>(open_);
    const std::string difference = Difference(reader_schema_, reader->reader().schema());
    if (!difference.empty() || reader->reader().num_parts() != parts_) {
      Fail(ErrorCode::kBadData, "the data has changed while it was read{}{}",
           difference.empty() ? "" : ": ", difference);
    }
    return reader;
  }

  bool with_places() const { return options_.transform != nullptr || options_.check; }

  void Transform(RawRows& raw, Chunk& chunk) const {
    try {
      const int64_t limit = bad_rows_.limit;
      TransformRows({options_.transform.get(), options_.check}, limit + (limit < INT64_MAX ? 1 : 0),
                    raw, chunk);
    } catch (...) {
      chunk.error = std::current_exception();
      chunk.rows.Begin(schema_);
    }
  }

  // --- threads ---

  void StartThreads() {
    for (int i = 0; i < options_.threads; ++i) {
      threads_.push_back(StartThread("that reads rows", [this] { Work(); }));
    }
  }

  void Work() {
    Worker worker;
    Lock lock(mutex_);
    try {
      if (options_.trace != nullptr) options_.trace->NameThread("reader");
      int64_t then = SteadyClock().Now();
      while (!stop_) {
        const bool busy = !paused_ && RunJob(lock, worker);
        if (!busy) work_.wait(lock);
        const int64_t now = SteadyClock().Now();
        (busy ? stats_.busy_ns : stats_.idle_ns) += now - then;
        then = now;
      }
    } catch (...) {
      // Jobs keep what goes wrong with the data. This is about the pipeline itself: no memory to
      // plan with. All that were to come are lost.
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
      ready_.notify_all();
    }
  }

  const TraceName* NameOf(std::string_view job) const {
    return options_.trace != nullptr ? options_.trace->Name(job, "data") : nullptr;
  }

  const OpenRows open_;
  const BadRowOptions bad_rows_;
  PipelineOptions options_;
  std::unique_ptr<ChunkReader> first_reader_;  // in order: the only one
  const Schema reader_schema_;
  const Schema schema_;
  const BatchRule rule_;
  const int64_t parts_;  // 0: read in order
  const int64_t chunk_rows_;
  OrderKey key_;
  // What jobs are called in the trace.
  const TraceName* const read_ = NameOf("read and transform rows");
  const TraceName* const arrange_ = NameOf("shuffle a window");
  const TraceName* const make_batch_ = NameOf("make a batch");

  // The consumer's.
  Batch current_;
  Place place_;
  Worker consumer_;  // works for 0 threads
  bool first_ = true;

  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable work_, ready_, settled_;
  bool stop_ = false;
  bool paused_ = false;
  int active_ = 0;  // jobs that run without the lock

  ChunkOrder order_;  // what to read next
  bool reader_busy_ = false;
  bool first_reader_taken_ = false;

  std::deque<Reading> reading_;  // in order
  Planner planner_;
  bool planned_all_ = false;
  bool announcing_ = false;
  std::deque<Slot> slots_;  // in order
  std::vector<Batch> free_batches_;
  std::vector<std::shared_ptr<Chunk>> free_chunks_;
  PipelineStats stats_;
  std::exception_ptr failure_;  // of a thread; for good
  std::vector<std::thread> threads_;
};

Pipeline::Pipeline(const FileSystem& fs, const std::vector<std::string>& paths,
                   const ReaderOptions& reader, PipelineOptions options) {
  ReaderOptions wanted = reader;
  if (options.transform && wanted.columns.empty()) wanted.columns = options.transform->inputs();
  impl_ = std::make_unique<Impl>(
      [&fs, paths, wanted](const BadRowOptions& bad_rows) {
        ReaderOptions of_reader = wanted;
        of_reader.bad_rows = bad_rows;
        return OpenReader(fs, paths, of_reader);
      },
      reader.bad_rows, std::move(options));
}

Pipeline::Pipeline(OpenRows open, BadRowOptions bad_rows, PipelineOptions options)
    : impl_(std::make_unique<Impl>(std::move(open), std::move(bad_rows), std::move(options))) {}

Pipeline::~Pipeline() = default;

const Schema& Pipeline::schema() const { return impl_->schema(); }
const Batch* Pipeline::Next() { return impl_->Next(); }
Position Pipeline::position() const { return impl_->position(); }
void Pipeline::Seek(const Position& position) { impl_->Seek(position); }
PipelineStats Pipeline::stats() const { return impl_->stats(); }

}  // namespace catamaran
