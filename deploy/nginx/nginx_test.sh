#!/usr/bin/env bash
# deploy/nginx/nginx_test.sh CATAMARAN GRPC_CALL: starts a service and the real nginx in front of it, with
# the files of this folder but for ports and paths, and calls the service through it.
grpc_call=$(realpath "${2:?usage: nginx_test.sh CATAMARAN GRPC_CALL}")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../cli/test_helpers.sh" "$1"
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo 'nginx is missing: tools/setup installs it'; exit 1; }
files=$source/deploy/nginx

write_taste

service= proxy=
# wait_for WHAT COMMAND...: until the command succeeds, a minute at most.
wait_for() {
  local what=$1
  shift
  for _ in $(seq 600); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.1
  done
  fail "waited in vain for $what" "$(cat serve.txt error.log start.txt 2>/dev/null)"
}
start_service() {
  : >serve.txt
  "$catamaran" serve taste.ctm --data-dir data --learn --http "${1:-0}" --grpc "${2:-0}" >serve.txt 2>&1 &
  service=$!
  await_service $service
  trap 'kill -9 $service $proxy 2>/dev/null; rm -rf "$work"' EXIT
  http_port=$(sed -n 's|^HTTP  http://127.0.0.1:||p' serve.txt)
  grpc_port=$(sed -n 's|^gRPC  127.0.0.1:||p' serve.txt)
}
# free_port NAME: a port that nobody listens on now.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf -v "$1" '%s' "$port"
}
# start_nginx FILE SED-SCRIPT: until it listens; a port that somebody took meanwhile is tried again.
start_nginx() {
  mkdir -p conf/catamaran tmp
  cp "$files"/*.inc server.* conf/catamaran/ 2>/dev/null
  for _ in $(seq 20); do
    free_port web
    free_port rpc
    sed "s/listen 8080;/listen 127.0.0.1:$web;/; s/listen 8081 /listen 127.0.0.1:$rpc /
         s/listen 443 /listen 127.0.0.1:$web /
         s/127.0.0.1:8000;/127.0.0.1:$http_port;/; s/127.0.0.1:8001;/127.0.0.1:$grpc_port;/
         s|/etc/nginx/catamaran/|$work/conf/catamaran/|; $2" "$files/$1" >conf/service.conf
    cat >conf/nginx.conf <<EOM
daemon off;
$([ "$(id -u)" != 0 ] || echo 'user root;')
worker_processes 1;
pid $work/nginx.pid;
error_log $work/error.log;
events { worker_connections 512; }
http {
  access_log $work/access.log;
  client_body_temp_path $work/tmp/body;
  proxy_temp_path $work/tmp/proxy;
  fastcgi_temp_path $work/tmp/fastcgi;
  uwsgi_temp_path $work/tmp/uwsgi;
  scgi_temp_path $work/tmp/scgi;
  include service.conf;
}
EOM
    "$nginx" -p "$work" -c conf/nginx.conf >start.txt 2>&1 &
    proxy=$!
    for _ in $(seq 600); do
      (exec 3<>"/dev/tcp/127.0.0.1/$web") 2>/dev/null && return
      kill -0 $proxy 2>/dev/null || break
      sleep 0.1
    done
    wait $proxy
    grep -q 'Address already in use' start.txt error.log || break
  done
  fail 'nginx did not start' "$(cat start.txt error.log)"
}
stop_nginx() {
  kill -QUIT $proxy
  wait $proxy
  is 'nginx ends in order' "$?" 0
}
code() { curl -sS -m 60 -o /dev/null -w '%{http_code}' "$@"; }
call() { timeout 90 "$grpc_call" "$@"; }
row() { base64 -w0 <<<"$1"; }
infer() {  # over gRPC; ROW is base64
  printf '{"modelName": "taste", "inputs": [{"name": "rows", "datatype": "BYTES", "shape": [1],
           "contents": {"bytesContents": ["%s"]}}]}' "$1"
}

start_service

# ---- Not encrypted: a port for each protocol.
start_nginx catamaran.conf ''
url=http://127.0.0.1:$web
is 'health' "$(code "$url/healthz")" 200
is 'ready' "$(code "$url/v2/health/ready")" 200
has 'an answer' "$(curl -sS "$url/v2/models/taste/infer" -d '{"rows": [{"user": [0, 0], "item": 7}]}')" '0.5'
has 'an error of the service' "$(curl -sS "$url/v2/models/tast/infer" -d '{"rows": [{}]}')" 'did you mean taste?'
has 'an example' "$(curl -sS "$url/v1/models/taste/train" -d '{"rows": [{"user": [1, 1], "item": 3, "label": 1}]}')" '"rows":1'
has 'the page' "$(curl -sS "$url/")" '<html'
has 'metrics, from this machine' "$(curl -sS "$url/metrics")" 'catamaran_requests_total'
has 'a watch, as it comes' "$(curl -sS -N -m 3 "$url/v1/models/taste/learning/watch" 2>/dev/null)" 'data: {"model":"taste"'
is 'another host without tokens' "$(code -H 'Host: example.org' "$url/v2")" 403
# Blanks, which are no request: the service says so, nginx passed them.
head -c 3000000 /dev/zero | tr '\0' ' ' >large.txt
is 'a large body' "$(code --data-binary @large.txt "$url/v2/models/taste/infer")" 400
is 'too large a body' "$(head -c 70000000 /dev/zero | code --data-binary @- "$url/v2/models/taste/infer")" 413
before=$(curl -sS "$url/metrics" | sed -n 's/^catamaran_http_connections //p')
for _ in $(seq 20); do code "$url/v2" >/dev/null; done
after=$(curl -sS "$url/metrics" | sed -n 's/^catamaran_http_connections //p')
is 'connections to the service stay' "$after" "$before"

has 'gRPC: health' "$(call "127.0.0.1:$rpc" grpc.health.v1.Health/Check)" 'SERVING'
has 'gRPC: an answer' "$(call "127.0.0.1:$rpc" inference.GRPCInferenceService/ModelInfer \
  "$(infer "$(row '{"user": [0, 0], "item": 7}')")")" '0.5'
has 'gRPC: an error of the service' "$(call "127.0.0.1:$rpc" inference.GRPCInferenceService/ModelMetadata \
  '{"name": "tast"}')" '5: '
has 'gRPC: a stream' "$(call "127.0.0.1:$rpc" catamaran.v1.Learning/Watch '{"model": "taste"}')" '"model":"taste"'
has 'gRPC: learning' "$(call "127.0.0.1:$rpc" catamaran.v1.Learning/Status '{"model": "taste"}')" '"running":true'

# ---- Request smuggling: whatever a client sends, others get the answers to their own requests. nginx uses its
# connections to the service for all clients, so a request that the service saw in a client's bytes, and nginx
# did not, would be answered to the next client, and every client after that would get another's answer.
victims=0
# victim: a client with a name of its own.
victim() {
  victims=$((victims + 1))
  has "an answer to its own request, after: $1" "$(curl -sS "$url/v2/models/taste/infer" \
    -d "{\"id\": \"victim-$victims\", \"rows\": [{\"user\": [0, 0], \"item\": 7}]}")" "\"id\":\"victim-$victims\""
}
# attack NAME FORMAT: sends the bytes that printf makes of FORMAT, twice, with clients after each.
attack() {
  # shellcheck disable=SC2059
  printf "$2" >attack.txt
  for _ in 1 2; do
    exec 4<>"/dev/tcp/127.0.0.1/$web"
    cat attack.txt >&4
    timeout 0.05 cat <&4 >answers.txt
    victim "$1"
    exec 4>&-
    victim "$1"
  done
}
head='POST /v2/models/taste/infer HTTP/1.1\r\nHost: localhost\r\n'
hidden='POST /v1/models/taste/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'
size=$(printf "$hidden" | wc -c)
for coding in xchunked gzip identity 'chunked, gzip' 'gzip, chunked' 'chunked, chunked' '"chunked"' '\x0bchunked' \
  'chunked;a' 'chunked\r\nTransfer-Encoding: xchunked' 'xchunked\r\nTransfer-Encoding: chunked'; do
  attack "TE: $coding" "${head}Transfer-Encoding: $coding\r\n\r\n0\r\n\r\n$hidden"
  attack "TE: $coding, and a length" \
    "${head}Content-Length: $((size + 5))\r\nTransfer-Encoding: $coding\r\n\r\n0\r\n\r\n$hidden"
done
attack 'CL.TE' "${head}Content-Length: $((size + 5))\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n$hidden"
attack 'TE.CL' "${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n$(printf '%x' "$size")\r\n$hidden\r\n0\r\n\r\n"
attack 'CL.CL' "${head}Content-Length: $size\r\nContent-Length: 0\r\n\r\n$hidden"
attack 'CL.0' "GET /v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: $size\r\n\r\n$hidden"
attack 'CL: +' "${head}Content-Length: +$size\r\n\r\n$hidden"
attack 'a blank before the colon' "${head}Transfer-Encoding : chunked\r\nContent-Length: $((size + 5))\r\n\r\n0\r\n\r\n$hidden"
attack 'an underscore' "${head}Transfer_Encoding: chunked\r\nContent-Length: $((size + 5))\r\n\r\n0\r\n\r\n$hidden"
attack 'a folded line' "${head}X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: $((size + 5))\r\n\r\n0\r\n\r\n$hidden"
attack 'LF alone' "${head}X: y\nTransfer-Encoding: chunked\nContent-Length: $((size + 5))\r\n\r\n0\r\n\r\n$hidden"
attack 'CR alone' "${head}X: y\rTransfer-Encoding: chunked\r\nContent-Length: $((size + 5))\r\n\r\n0\r\n\r\n$hidden"
attack 'a chunk of LF alone' "${head}Transfer-Encoding: chunked\r\n\r\n0\n\n$hidden"
attack 'an extension with LF alone' "${head}Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\n$hidden"
attack 'a size beyond 64 bits' "${head}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n$hidden"
attack 'HTTP/1.0 with chunks' "POST /v2/models/taste/infer HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n$hidden"
attack 'a whole URI' "GET http://elsewhere/v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: $size\r\n\r\n$hidden"
attack 'cut off' "${head}Content-Length: 1000\r\n\r\n$hidden"
# TE.CL, CL.0 and others may bring the hidden request to nginx as a request of its own, which the attacker may make.
curl -sS -o /dev/null -d '' "$url/v1/models/taste/resume"
has 'an example, after the attacks' "$(curl -sS "$url/v1/models/taste/train" -d '{"rows": [{"user": [1, 1], "item": 3, "label": 1}]}')" '"rows":1'

# ---- A service that is not there, and comes back.
kill -9 $service
wait $service 2>/dev/null
is 'no service' "$(code "$url/healthz")" 502
has 'gRPC: no service' "$(call "127.0.0.1:$rpc" grpc.health.v1.Health/Check)" '14: the service is not there'
start_service "127.0.0.1:$http_port" "127.0.0.1:$grpc_port"
wait_for 'the service behind nginx' curl -sSf "$url/healthz"
has 'what it has learned' "$(curl -sS "$url/v1/models/taste/learning")" '"examples":2'
has 'gRPC: it is back' "$(call "127.0.0.1:$rpc" grpc.health.v1.Health/Check)" 'SERVING'
stop_nginx

# ---- Limits of a client: here one call a minute.
start_nginx catamaran.conf 's|rate=2000r/s|rate=1r/m|'
sed -i 's/burst=4000/burst=1/' conf/catamaran/limits.inc
kill -HUP $proxy
wait_for 'the limit' eval "[ \"\$(code http://127.0.0.1:$web/v2)\" = 429 ]"
has 'gRPC: too many calls' "$(call "127.0.0.1:$rpc" grpc.health.v1.Health/Check)" '8: too many calls'
stop_nginx

# ---- Encrypted: both protocols on one port.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.pem \
  -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
start_nginx catamaran-tls.conf ''
url=https://127.0.0.1:$web
curl() { command curl --cacert server.pem "$@"; }
has 'TLS: an answer' "$(curl -sS "$url/v2/models/taste/infer" -d '{"rows": [{"user": [0, 0], "item": 7}]}')" '0.5'
is 'TLS: HTTP/1.1 too' "$(code --http1.1 "$url/healthz")" 200
has 'TLS: gRPC on the same port' "$(call --ca server.pem "127.0.0.1:$web" inference.GRPCInferenceService/ModelInfer \
  "$(infer "$(row '{"user": [0, 0], "item": 7}')")")" '0.5'
checks=$((checks + 1))
command curl -sS "$url/v2" >/dev/null 2>&1 && fail 'a certificate that nobody knows is accepted'
stop_nginx

kill $service
wait $service
is 'the service ends in order' "$?" 0
report deploy_nginx
