#include "catamaran/data/pipeline/place.h"

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

constexpr std::string_view kKind = "pipeline";
constexpr std::string_view kWhat = "going on with the data";

template <class T>
void ExpectSame(std::string_view what, const T& then, const T& now) {
  if (then != now) {
    Fail(
        "{}: {} was {} when the position was taken, and is {} now: the rows would come in another "
        "order",
        kWhat, what, then, now);
  }
}

}  // namespace

Position ToPosition(const Place& place, const OrderKey& key) {
  PositionWriter out(kKind);
  out.Put(static_cast<int64_t>(key.data));
  out.Put(static_cast<int64_t>(key.transform));
  out.Put(key.parts);
  out.Put(key.shuffle_window);
  out.Put(static_cast<int64_t>(key.seed));
  out.Put(key.bucketed_rows);
  out.Put(key.bucketed_tokens);
  out.Put(key.bucket_column);
  out.Put(place.epoch);
  out.Put(place.batch);
  out.Put(place.window);
  out.Put(place.chunk);
  out.Put(place.skip);
  out.Put(place.reader.bytes);
  out.Put(place.bad_rows);
  out.Put(place.given);
  return out.Take();
}

Place FromPosition(const Position& position, const OrderKey& key) {
  if (position.bytes.empty()) return {};
  PositionReader in(position, kKind, kWhat);
  const auto data = static_cast<uint64_t>(in.GetInt());
  const auto transform = static_cast<uint64_t>(in.GetInt());
  ExpectSame("the number of parts of the data", in.GetInt(), key.parts);
  // Another transform may read other columns, so that it is not known whether the data is the same.
  const bool other = key.any_transform && transform != key.transform;
  if (data != key.data && !other)
    Fail("{}: it is not the data in which the position was taken", kWhat);
  if (transform != key.transform && !other) {
    Fail("{}: the features are made in another way than when the position was taken", kWhat);
  }
  ExpectSame("the shuffle window", in.GetInt(), key.shuffle_window);
  ExpectSame("the seed", static_cast<uint64_t>(in.GetInt()), key.seed);
  ExpectSame("the number of rows of a bucketed batch", in.GetInt(), key.bucketed_rows);
  ExpectSame("the number of tokens of a bucketed batch", in.GetInt(), key.bucketed_tokens);
  ExpectSame("the column of lengths", std::string(in.GetString()), key.bucket_column);
  Place place;
  place.epoch = in.GetInt();
  place.batch = in.GetInt();
  place.window = in.GetInt();
  place.chunk = in.GetInt();
  place.skip = in.GetInt();
  place.reader.bytes = in.GetString();
  place.bad_rows = in.GetInt();
  place.given = in.GetInt();
  in.End();
  for (const int64_t number : {place.epoch, place.batch, place.window, place.chunk, place.skip,
                               place.bad_rows, place.given}) {
    if (number < 0)
      Fail(ErrorCode::kStorage, "{}: the position is damaged: a number in it is {}", kWhat, number);
  }
  return place;
}

}  // namespace catamaran
