// A step that fails has changed nothing: every request for memory of a step is made to fail, and
// what the table holds in the end is what an undisturbed one holds. Whatever is asked for while a
// prepared step is applied may fail too, and nothing is lost.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catamaran/base/error.h"
#include "catamaran/base/failing_memory_test_util.h"
#include "catamaran/table/memory/memory_table.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {
namespace {

using table_test::Batch;
using table_test::Config;
using table_test::kSecond;

// All records and all that is kept beside them.
std::map<std::string, std::string> Contents(DurableTable& table) {
  std::map<std::string, std::string> contents;
  auto cut = table.Cut(true);
  for (int k = 0; k < kRowClasses; ++k) {
    const auto c = static_cast<RowClass>(k);
    std::string& bytes = contents["class " + std::to_string(k)];
    cut->ForEachRow(c, [&](const uint32_t* record) {
      bytes.append(reinterpret_cast<const char*>(record), table.layout().bytes(c));
    });
  }
  for (const auto& [name, value] : cut->extras()) contents[name] = value;
  table.EndCut(std::move(cut), false);
  return contents;
}

// The steps of a table that grows quickly: some keys come again, most are new.
struct Steps {
  explicit Steps(int64_t width) : width(width) {}

  void Make(int64_t number) {
    std::mt19937_64 random(static_cast<uint64_t>(number));
    const size_t count = number % 7 == 6 ? 3000 : 40;
    std::vector<uint64_t> keys;
    std::vector<float> gradients;
    for (size_t i = 0; i < count; ++i) {
      keys.push_back(random() % (static_cast<uint64_t>(number) * 100 + 50));
      for (int64_t k = 0; k < width; ++k) {
        gradients.push_back(static_cast<float>(random() % 100) / 100 - 0.5f);
      }
    }
    batch = std::make_unique<Batch>(width, std::move(keys), std::move(gradients));
    push = batch->push();
    seen = {.keys = batch->keys.data(),
            .num_keys = std::ssize(batch->keys),
            .show = &kShow,
            .show_for_all = true};
    step = {number, number * kSecond, {}, {&push, 1}};
    if (observes) step.observations = {&seen, 1};
  }

  static constexpr float kShow = 1;
  int64_t width;
  bool observes = false;
  std::unique_ptr<Batch> batch;
  TablePush push;
  TableObservation seen;
  TableStep step;
};

struct Case {
  const char* name;
  TableConfig config;
  bool observes = false;
  bool cutting = false;  // a cut is being saved all the while
};

std::vector<Case> Cases() {
  TableConfig plain = Config(5, "adagrad");
  TableConfig rowwise = Config(16, "rowwise_adagrad");
  TableConfig counted = Config(4, "adam");
  counted.admit = {TableAdmit::Kind::kCount, 2};
  counted.admit.time_to_live = 6 * kSecond;
  counted.expire.unseen = 9 * kSecond;
  TableConfig bounded = Config(8, "sgd");
  bounded.grow_at = 2;
  bounded.expire.max_bytes = 60'000;
  bounded.unadmitted = Unadmitted::kShared;
  bounded.admit = {TableAdmit::Kind::kProbability, 1, 0.5};
  return {{"Plain", plain},
          {"Rowwise", rowwise},
          {"CountedAndForgotten", counted, true},
          {"CountedWhileItIsSaved", counted, true, true},
          {"GrowsWithinABudget", bounded, true},
          {"RowwiseWhileItIsSaved", rowwise, false, true}};
}

TEST(TableFaults, AStepThatFindsNoMemoryHasChangedNothing) {
  if (!FailingMemory::kPossible) GTEST_SKIP() << "sanitizers bring their own memory";
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.name);
    MemoryTable undisturbed(one.config), table(one.config);
    std::unique_ptr<TableCut> cut;
    Steps steps(one.config.width);
    steps.observes = one.observes;
    int64_t failures = 0, while_applied = 0;
    for (int64_t number = 1; number <= 40; ++number) {
      steps.Make(number);
      if (one.cutting && number % 5 == 1) {
        if (cut != nullptr) table.EndCut(std::move(cut), number % 2 == 0);
        cut = table.Cut(false);
      }
      undisturbed.Apply(steps.step);
      const int64_t rows = table.size();
      for (int64_t n = 0;; ++n) {
        FailingMemory::FailAt(n);
        bool failed = false;
        try {
          table.Prepare(steps.step);
        } catch (const std::exception& error) {
          failed = true;
          FailingMemory::Stop();
          EXPECT_EQ(CodeOf(error), ErrorCode::kResourceExhausted) << error.what();
        }
        if (FailingMemory::Stop() == 0 && !failed) break;
        ++failures;
        // (Expiry that the step before could not finish may have gone on.)
        ASSERT_LE(table.size(), rows);
        ASSERT_LT(n, 10'000);
      }
      FailingMemory::FailAt(0, true);
      ASSERT_NO_THROW(table.ApplyPrepared());
      while_applied += FailingMemory::Stop();
    }
    EXPECT_GT(failures, 20);
    if (cut != nullptr) table.EndCut(std::move(cut), false);
    const auto wanted = Contents(undisturbed);
    const auto found = Contents(table);
    ASSERT_EQ(found.size(), wanted.size());
    for (const auto& [name, bytes] : wanted) EXPECT_EQ(found.at(name) == bytes, true) << name;
    // Something was asked for, so that the second half of this test has a sense.
    RecordProperty(std::string(one.name) + "_failed_while_applied",
                   static_cast<int>(while_applied));
  }
}

}  // namespace
}  // namespace catamaran
