#!/usr/bin/env bash
# examples/online-ctr/make_clicks.sh [ROWS]: writes clicks.csv, made up, the same each time. Some
# advertisements and topics are liked more than others, and some topics on some devices.
set -euo pipefail
awk -v rows="${1:-2000}" 'BEGIN {
  seed = 20240229
  split("Oslo Bergen Trondheim Stavanger Drammen", cities, " ")
  split("phone tablet desktop", devices, " ")
  split("travel books music garden games news", topics, " ")
  for (i = 0; i < 6; ++i) for (d = 1; d <= 3; ++d) taste[i, d] = 2.4 * next_number() - 1.2
  for (a = 0; a < 60; ++a) quality[a] = 2 * next_number() - 1
  print "time,user,city,device,ad,topic,price,seen,click"
  for (r = 0; r < rows; ++r) {
    minute = int(r * 1440 / rows)
    user = int(300 * next_number() ^ 2)
    city = 1 + user % 5
    device = 1 + int(3 * next_number())
    ad = int(60 * next_number() ^ 1.5)
    topic = ad % 6
    seen = int(6 * next_number() ^ 2)
    logit = -1.2 + quality[ad] + taste[topic, device] - 0.2 * seen + (user % 7 == 0)
    click = next_number() < 1 / (1 + exp(-logit))
    price = next_number() < 0.03 ? "" : sprintf("%.2f", 1 + 40 * next_number())
    printf "2024-02-29 %02d:%02d,u%d,%s,%s,a%d,%s,%s,%d,%d\n", int(minute / 60), minute % 60,
      user, cities[city], devices[device], ad, topics[topic + 1], price, seen, click
  }
}
# 0 to 1; the same with every awk.
function next_number() {
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647
}' >"$(dirname "$0")/clicks.csv"
