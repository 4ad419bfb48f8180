#include "catamaran/data/pipeline/planner.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

std::exception_ptr MakeError(const std::string& message) {
  return std::make_exception_ptr(Error(message, ErrorCode::kBadData));
}

std::exception_ptr NotOfThisData() {
  return MakeError(
      "going on with the data: the position is behind the rows that are there now: the data has "
      "changed");
}

}  // namespace

Planner::Planner(BatchRule rule, int64_t epochs, int64_t bad_row_limit)
    : rule_(rule), epochs_(epochs), bad_row_limit_(bad_row_limit) {}

void Planner::Restart(const Place& place) {
  next_ = place_ = place;
  open_.reset();
  bad_rows_ = place.bad_rows;
  reports_.clear();
  failed_ = false;
  items_.clear();
  given_ = place.given;
  epoch_batches_ = place.batch;
  needs_chunks_ = true;
}

// --- chunks to windows ---

void Planner::Push(Item item) {
  item.reports = std::exchange(reports_, {});
  item.bad_rows = bad_rows_;
  items_.push_back(std::move(item));
}

// Adds to bad_rows_; an error where there are too many, and the rows from there on go.
std::exception_ptr Planner::CountBadRows(Chunk& chunk) {
  BadRows count({.limit = bad_row_limit_,
                 .skipped_before = bad_rows_,
                 .report = [&](const std::string& message) {
                   if (chunk.epoch == 0) reports_.push_back(message);
                 }});
  std::exception_ptr error;
  for (const BadRow& bad : chunk.bad) {
    try {
      count.Add(bad.message);
    } catch (const Error&) {
      error = std::current_exception();
      chunk.rows.Truncate(std::min(bad.before, chunk.rows.rows()));
      break;
    }
  }
  bad_rows_ = count.count();
  return error;
}

void Planner::Add(std::shared_ptr<Chunk> chunk) {
  if (failed_) return;
  if (chunk->end) {
    CloseWindow();
    Push({});
    bad_rows_ = 0;
    next_ = {.epoch = chunk->epoch + 1};
    return;
  }
  next_.reader = chunk->start;
  next_.chunk = chunk->number;
  next_.bad_rows = bad_rows_;
  std::exception_ptr error = CountBadRows(*chunk);
  if (!error) error = chunk->error;
  if (!error && next_.skip > chunk->rows.rows()) error = NotOfThisData();
  if (!error || rule_.shuffle_window == 0) AddRows(std::move(chunk));
  if (error) {
    open_.reset();
    failed_ = true;
    Push({.error = error});
  }
}

void Planner::AddRows(std::shared_ptr<Chunk> chunk) {
  const int64_t rows = chunk->rows.rows();
  for (int64_t row = std::exchange(next_.skip, 0); row < rows;) {
    if (open_ == nullptr) {
      Place start = next_;
      start.skip = row;
      start.given = 0;
      open_ = std::make_shared<Window>(std::move(start));
    }
    int64_t end = rows;
    if (rule_.shuffle_window > 0) end = std::min(rows, row + rule_.shuffle_window - open_->rows());
    open_->Add(chunk, row, end);
    if (rule_.shuffle_window == 0 || open_->rows() == rule_.shuffle_window) CloseWindow();
    row = end;
  }
}

void Planner::CloseWindow() {
  if (open_ == nullptr) return;
  ++next_.window;
  Item item{.window = std::move(open_)};
  if (rule_.shuffle_window == 0 && rule_.tokens == 0) {
    // As good as nothing to do.
    item.window->Arrange(rule_);
    item.taken = item.arranged = true;
  }
  Push(std::move(item));
}

std::shared_ptr<Window> Planner::TakeUnarranged() {
  const auto item =
      std::ranges::find_if(items_, [](const Item& i) { return i.window != nullptr && !i.taken; });
  if (item == items_.end()) return nullptr;
  item->taken = true;
  return item->window;
}

void Planner::Arranged(const Window& window, std::exception_ptr error) {
  const auto item =
      std::ranges::find_if(items_, [&](const Item& i) { return i.window.get() == &window; });
  CATAMARAN_CHECK(item != items_.end());
  item->arranged = true;
  item->error = std::move(error);
}

int64_t Planner::windows() const {
  return std::ranges::count_if(items_, [](const Item& i) { return i.window != nullptr; });
}

// --- windows to batches ---

// The batch takes the rows up to row `given` of the window of `item`, or ends with the item before
// where that is no window.
BatchPlan Planner::Emit(BatchPlan plan, size_t item, int64_t given) {
  for (size_t i = 0; i <= item; ++i) {
    std::ranges::move(items_[i].reports, std::back_inserter(plan.reports));
    items_[i].reports.clear();
  }
  plan.bad_rows = items_[item].bad_rows;
  const Window* window = items_[item].window.get();
  if (window != nullptr && given == window->rows()) {
    ++item;
    given = 0;
  }
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(item));
  given_ = given;
  plan.after.batch = place_.batch + 1;
  place_ = plan.after;
  ++epoch_batches_;
  return plan;
}

BatchPlan Planner::Failed(size_t item) {
  BatchPlan plan;
  for (size_t i = 0; i <= item; ++i)
    std::ranges::move(items_[i].reports, std::back_inserter(plan.reports));
  plan.bad_rows = items_[item].bad_rows;
  plan.error = items_[item].error;
  plan.after = place_;
  return plan;
}

// Goes to the next epoch; the rows before its end that are in no batch are left out. False: it was
// the last.
bool Planner::EndEpoch(size_t item) {
  // What was to be reported goes with the next batch.
  std::vector<std::string> reports;
  for (size_t i = 0; i <= item; ++i)
    std::ranges::move(items_[i].reports, std::back_inserter(reports));
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(item) + 1);
  given_ = 0;
  if (epochs_ == 0 && epoch_batches_ == 0) {
    items_.push_front({.error = MakeError("the data has no rows for a single batch")});
  }
  auto& first = items_.empty() ? reports_ : items_.front().reports;
  first.insert(first.begin(), reports.begin(), reports.end());
  epoch_batches_ = 0;
  place_ = {.epoch = place_.epoch + 1, .batch = place_.batch};
  return epochs_ == 0 || place_.epoch < epochs_;
}

std::optional<BatchPlan> Planner::Plan() {
  BatchPlan plan;
  int64_t taken = 0, tokens = 0;
  needs_chunks_ = false;
  if (epochs_ > 0 && place_.epoch >= epochs_) {
    plan.end = true;
    plan.after = place_;
    return plan;
  }
  for (size_t i = 0;;) {
    if (i == items_.size()) {
      needs_chunks_ = true;
      return std::nullopt;
    }
    const Item& item = items_[i];
    if (item.error) return Failed(i);
    if (item.window == nullptr) {
      if (taken > 0 && !rule_.drop_last) return Emit(std::move(plan), i, 0);
      const int64_t bad_rows = item.bad_rows;
      // The place stays in the epoch that ended: a later run may have more of them.
      const Place last = place_;
      if (EndEpoch(i)) {
        plan.rows.clear();
        taken = tokens = 0;
        i = 0;
        continue;
      }
      plan = {
          .after = last, .bad_rows = bad_rows, .reports = std::exchange(reports_, {}), .end = true};
      return plan;
    }
    if (!item.arranged) return std::nullopt;
    const Window& window = *item.window;
    const int64_t begin = i == 0 ? given_ : 0;
    if (begin > window.rows()) {
      items_[i].error = NotOfThisData();
      return Failed(i);
    }
    if (begin == window.rows()) {
      ++i;
      continue;
    }
    const Window::Cut cut = window.CutBatch(rule_, begin, taken, tokens);
    const int64_t end = begin + cut.rows;
    if (cut.rows > 0) {
      plan.rows.push_back({.window = item.window, .begin = begin, .end = end});
      plan.after = window.start();
      plan.after.given = end;
    }
    taken += cut.rows;
    tokens += cut.tokens;
    if (cut.full) return Emit(std::move(plan), i, end);
    if (rule_.bucket) {
      // Its own window has no more for it; whether it is the last is known from what follows.
      if (i + 1 == items_.size()) {
        needs_chunks_ = true;
        return std::nullopt;
      }
      const bool last = items_[i + 1].window == nullptr && !items_[i + 1].error;
      if (!last || !rule_.drop_last) return Emit(std::move(plan), i, end);
    }
    ++i;
  }
}

}  // namespace catamaran
