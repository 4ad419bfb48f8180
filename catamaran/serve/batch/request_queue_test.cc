#include "catamaran/serve/batch/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "catamaran/serve/batch/batch_sizes.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<PendingRequest> Pending(std::string id, int64_t rows = 1,
                                        std::vector<int64_t> sizes = {}) {
  auto pending = std::make_unique<PendingRequest>();
  pending->request.id = std::move(id);
  pending->rows = rows;
  pending->bytes = rows * 100;
  pending->inputs.sizes = std::move(sizes);
  pending->arrival = std::chrono::steady_clock::now();
  return pending;
}

Status Push(RequestQueue& queue, std::unique_ptr<PendingRequest> pending) {
  return queue.Push(pending);
}

std::vector<std::string> Ids(const PendingRequests& requests) {
  std::vector<std::string> ids;
  for (const auto& pending : requests) ids.push_back(pending->request.id);
  return ids;
}

class RequestQueueTest : public ::testing::Test {
 protected:
  std::vector<std::string> Take(RequestQueue& queue) {
    EXPECT_TRUE(queue.Take(batch_, late_));
    return Ids(batch_);
  }
  BatchOptions batching_{.max_batch = 4};
  ModelLimits limits_;
  PendingRequests batch_, late_;
};

TEST_F(RequestQueueTest, TheOldestGoesFirstWithThoseThatFit) {
  RequestQueue queue(batching_, limits_);
  ASSERT_TRUE(Push(queue, Pending("a", 2)).ok());
  ASSERT_TRUE(Push(queue, Pending("b", 1, {7})).ok());  // another size: not with a
  ASSERT_TRUE(Push(queue, Pending("c", 3)).ok());       // too many rows for the first batch
  ASSERT_TRUE(Push(queue, Pending("d", 2)).ok());
  ASSERT_TRUE(Push(queue, Pending("e", 1, {7})).ok());
  EXPECT_EQ(queue.rows(), 9);
  EXPECT_THAT(Take(queue), ElementsAre("a", "d"));
  EXPECT_THAT(Take(queue), ElementsAre("b", "e"));
  EXPECT_THAT(Take(queue), ElementsAre("c"));
  EXPECT_EQ(queue.rows(), 0);
}

TEST_F(RequestQueueTest, MoreRowsThanABatchHasRunAlone) {
  RequestQueue queue(batching_, limits_);
  ASSERT_TRUE(Push(queue, Pending("large", 100)).ok());
  ASSERT_TRUE(Push(queue, Pending("small")).ok());
  EXPECT_THAT(Take(queue), ElementsAre("large"));
  EXPECT_THAT(Take(queue), ElementsAre("small"));
}

TEST_F(RequestQueueTest, WithoutBatchingEachRunsAlone) {
  batching_.enabled = false;
  RequestQueue queue(batching_, limits_);
  ASSERT_TRUE(Push(queue, Pending("a")).ok());
  ASSERT_TRUE(Push(queue, Pending("b")).ok());
  EXPECT_THAT(Take(queue), ElementsAre("a"));
  EXPECT_THAT(Take(queue), ElementsAre("b"));
}

TEST_F(RequestQueueTest, EachLimitRefusesByName) {
  limits_.queue_requests = 3;
  limits_.queue_rows = 10;
  limits_.queue_bytes = 900;
  RequestQueue queue(batching_, limits_);
  ASSERT_TRUE(Push(queue, Pending("a", 4)).ok());
  Status status = Push(queue, Pending("b", 7));
  EXPECT_EQ(status.code, StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message, HasSubstr("4 rows of at most 10"));
  status = Push(queue, Pending("b", 6));
  EXPECT_THAT(status.message, HasSubstr("400 bytes of at most 900"));
  ASSERT_TRUE(Push(queue, Pending("c", 1)).ok());
  ASSERT_TRUE(Push(queue, Pending("d", 1)).ok());
  status = Push(queue, Pending("e", 1));
  EXPECT_THAT(status.message, HasSubstr("3 requests of at most 3"));
  // What is refused leaves no trace: there is room again once the others are gone.
  EXPECT_THAT(Take(queue), ElementsAre("a"));
  EXPECT_TRUE(Push(queue, Pending("e", 1)).ok());
}

TEST_F(RequestQueueTest, ThoseWhomNobodyWaitsForAreSortedOut) {
  RequestQueue queue(batching_, limits_);
  auto late = Pending("late");
  late->request.deadline = std::chrono::steady_clock::now();
  auto cancelled = Pending("cancelled");
  cancelled->request.cancelled = std::make_shared<std::atomic<bool>>(true);
  ASSERT_TRUE(queue.Push(late).ok());
  ASSERT_TRUE(Push(queue, Pending("a")).ok());
  ASSERT_TRUE(queue.Push(cancelled).ok());
  EXPECT_THAT(Take(queue), ElementsAre("a"));
  EXPECT_THAT(Ids(late_), ElementsAre("late", "cancelled"));
}

TEST_F(RequestQueueTest, ClosingLetsOutWhatIsInItAndEndsWaiting) {
  RequestQueue queue(batching_, limits_);
  ASSERT_TRUE(Push(queue, Pending("a")).ok());
  queue.Close();
  EXPECT_EQ(Push(queue, Pending("b")).code, StatusCode::kUnavailable);
  EXPECT_THAT(Take(queue), ElementsAre("a"));
  EXPECT_FALSE(queue.Take(batch_, late_));
}

TEST_F(RequestQueueTest, ARequestWaitsForOthersUntilTheBatchIsFull) {
  batching_.max_delay_us = int64_t{3600} * 1'000'000;
  RequestQueue queue(batching_, limits_);
  std::thread worker([&] { EXPECT_THAT(Take(queue), ElementsAre("a", "b", "c", "d")); });
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(Push(queue, Pending(id)).ok());
  worker.join();
}

TEST_F(RequestQueueTest, WhoGathersPassesOnWhatDoesNotFit) {
  batching_.max_delay_us = int64_t{3600} * 1'000'000;
  RequestQueue queue(batching_, limits_);
  PendingRequests one, two, late_one, late_two;
  std::thread first([&] { queue.Take(one, late_one); });
  ASSERT_TRUE(Push(queue, Pending("a", 3)).ok());
  while (queue.requests() > 0) std::this_thread::yield();
  std::thread second([&] { queue.Take(two, late_two); });
  ASSERT_TRUE(Push(queue, Pending("other", 4, {9})).ok());
  second.join();
  EXPECT_THAT(Ids(two), ElementsAre("other"));
  ASSERT_TRUE(Push(queue, Pending("b", 1)).ok());
  first.join();
  EXPECT_THAT(Ids(one), ElementsAre("a", "b"));
}

// A thread that waits in Take, as those of a model do.
class IdleThread {
 public:
  explicit IdleThread(RequestQueue& queue)
      : thread_([this, &queue] {
          while (queue.Take(batch_, late_)) {
            const std::lock_guard lock(mutex_);
            for (std::string& id : Ids(batch_)) taken_.push_back(std::move(id));
          }
        }) {}
  ~IdleThread() { thread_.join(); }
  std::vector<std::string> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  PendingRequests batch_, late_;
  mutable std::mutex mutex_;
  std::vector<std::string> taken_;
  std::thread thread_;
};

// Pushes until the thread waits, so that who pushes leads.
void PushUntilLeading(RequestQueue& queue, const IdleThread& idle, PendingRequests& batch,
                      PendingRequests& late) {
  for (size_t pushed = 1;; ++pushed) {
    bool leads = false;
    auto pending = Pending("first");
    ASSERT_TRUE(queue.Push(pending, &leads).ok());
    if (leads) break;
    while (idle.taken().size() < pushed) std::this_thread::yield();
  }
  ASSERT_TRUE(queue.TakeMore(batch, late));
  ASSERT_THAT(Ids(batch), ElementsAre("first"));
}

TEST_F(RequestQueueTest, WhoeverPushesRunsInPlaceOfAThreadThatHasNothingToDo) {
  RequestQueue queue(batching_, limits_);
  {
    bool leads = false;
    auto early = Pending("nobody waits");
    ASSERT_TRUE(queue.Push(early, &leads).ok());
    EXPECT_FALSE(leads);
    Take(queue);
  }
  const IdleThread idle(queue);
  PushUntilLeading(queue, idle, batch_, late_);
  const size_t before = idle.taken().size();
  // What comes meanwhile is for who leads: the one thread's place is taken.
  for (const char* id : {"a", "b"}) {
    bool leads = false;
    auto pending = Pending(id);
    ASSERT_TRUE(queue.Push(pending, &leads).ok());
    EXPECT_FALSE(leads);
  }
  ASSERT_TRUE(queue.TakeMore(batch_, late_));
  EXPECT_THAT(Ids(batch_), ElementsAre("a", "b"));
  EXPECT_FALSE(queue.TakeMore(batch_, late_));
  EXPECT_EQ(idle.taken().size(), before);
  queue.AwaitLeaders();
  queue.Close();
}

TEST_F(RequestQueueTest, WhoStopsLeadingPassesOnWhatWaits) {
  RequestQueue queue(batching_, limits_);
  const IdleThread idle(queue);
  PushUntilLeading(queue, idle, batch_, late_);
  const size_t before = idle.taken().size();
  ASSERT_TRUE(Push(queue, Pending("rest")).ok());
  queue.StopLeading();
  while (idle.taken().size() == before) std::this_thread::yield();
  EXPECT_EQ(idle.taken().back(), "rest");
  queue.Close();
}

TEST(BatchSizes, AreFewAndNear) {
  EXPECT_THAT(BatchSizes(16), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16));
  EXPECT_THAT(BatchSizes(17), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24));
  for (int64_t rows = 1; rows < 5000; ++rows) {
    EXPECT_GE(PaddedRows(rows), rows);
    EXPECT_LE(PaddedRows(rows) * 2, rows * 3 + 1) << rows;
  }
}

}  // namespace
}  // namespace catamaran
