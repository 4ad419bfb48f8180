// train/train_test_util.h
//
// What the tests of this folder share: a program with a table, dropout and a schedule, and rows for
// it.

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "catamaran/base/scratch_directory.h"
#include "catamaran/data/records/record_writer.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran::testing {

inline constexpr const char* kShop = R"(program shop
table @taste : u64 -> f32[4] = normal(std=0.1) {
  features = [user, item]
  optimizer = adagrad(lr=0.1)
}
fc = linear(6, 1)
drop = dropout(0.2)
fn net(user: u64[B], item: u64[B], x: f32[B, 2], training: static bool = false) -> f32[B] {
  e = lookup(@taste, user, feature=user) * lookup(@taste, item, feature=item)
  h = drop(concat(e, x, axis=1), training=training)
  return sigmoid(reshape(fc(h), [B]))
}
fn infer(user: u64[B], item: u64[B], x: f32[B, 2]) -> (p: f32[B]) { return net(user, item, x) }
fn loss(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B]) -> (loss: f32[], off: f32[]) {
  p = net(user, item, x, training=true)
  return mean(binary_cross_entropy(p, label)), mean(abs(p - label))
}
fn evaluate(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(infer(user, item, x), label))
}
train = adam(clip(grad(loss), norm=1.0), lr=cosine(0.02, steps=200))
)";

inline Program FlatFrom(std::string_view text) {
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  return Flatten(Parse(text, "test.ctm", ops, *builders), *builders);
}

// Rows of kShop: who likes what follows a rule, with chance.
inline void WriteShopRows(FileSystem& fs, const std::string& path, int64_t rows, uint64_t seed) {
  const Schema schema({Column::Dense("user", DType::kI64), Column::Dense("item", DType::kI64),
                       Column::Dense("x", DType::kF32, {2}), Column::Dense("label", DType::kU8),
                       Column::Dense("when", DType::kI64), Column::String("note")});
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  RowBlock block(schema);
  for (int64_t r = 0; r < rows; ++r) {
    const auto user = static_cast<int64_t>(random() % 20),
               item = static_cast<int64_t>(random() % 30);
    const float a = normal(random), b = normal(random);
    const double p =
        1 / (1 + std::exp(-(a - b + static_cast<double>((user * 7 + item * 3) % 5 - 2))));
    block[0].ints.push_back(user);
    block[1].ints.push_back(item);
    block[2].floats.push_back(a);
    block[2].floats.push_back(b);
    block[3].bytes.push_back(static_cast<double>(random() % 1000) < 1000 * p ? 1 : 0);
    block[4].ints.push_back(1'700'000'000 + r);
    block[5].bytes.push_back('n');
    block[5].EndList();
    block.FinishRow();
  }
  RecordWriter writer(fs, path, schema, {.rows_per_block = 64});
  writer.Add(block);
  writer.Finish();
}

}  // namespace catamaran::testing
