#!/bin/bash
# A small cluster on this machine, to try: three FoundationDB processes and settee nodes, on 127.0.0.1 only, until Ctrl-C.
# usage: local-cluster.sh SETTEE DIR     SETTEE is built with the tag fdb; DIR keeps the data for the next time
#   FDB_BIN     where fdbserver and fdbcli are (default: PATH)
#   NODES       how many settee nodes (2), on the ports from PORT on (5984)
#   FDB_PORT    first of the three ports of FoundationDB (4700)
#   COUCHDB_USER, COUCHDB_PASSWORD   the administrator of the first start (admin, admin)
set -euo pipefail

settee=$1
dir=$2
nodes=${NODES:-2}
port=${PORT:-5984}
fdb_port=${FDB_PORT:-4700}
[ -z "${FDB_BIN:-}" ] || PATH=$FDB_BIN:$PATH
export COUCHDB_USER=${COUCHDB_USER:-admin} COUCHDB_PASSWORD=${COUCHDB_PASSWORD:-admin}
for needed in fdbserver fdbcli; do
  command -v "$needed" >/dev/null || { echo "$needed is neither on PATH nor in FDB_BIN" >&2; exit 1; }
done
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cluster=$dir/fdb.cluster

servers=()
running=()
stop() { # nodes first: they end what they have begun
  trap - EXIT INT TERM
  [ ${#running[@]} -eq 0 ] || { kill "${running[@]}" 2>/dev/null; wait "${running[@]}"; } || true
  [ ${#servers[@]} -eq 0 ] || { kill "${servers[@]}" 2>/dev/null; wait "${servers[@]}"; } || true
}
trap stop EXIT
trap 'exit 130' INT TERM

new=
if [ ! -s "$cluster" ]; then
  new=yes
  echo "settee:local@127.0.0.1:$fdb_port,127.0.0.1:$((fdb_port + 1)),127.0.0.1:$((fdb_port + 2))" >"$cluster"
fi
for i in 0 1 2; do
  home=$dir/fdb$i
  mkdir -p "$home/data" "$home/log"
  cp "$cluster" "$home/fdb.cluster"
  # each is a machine of its own for the cluster, so that copies are on two of them
  setsid fdbserver -p "127.0.0.1:$((fdb_port + i))" -C "$home/fdb.cluster" -d "$home/data" -L "$home/log" \
    --locality-zoneid="z$i" --locality-machineid="m$i" --maxlogssize 20MiB >"$home/out" 2>&1 &
  servers+=($!)
done
if [ -n "$new" ]; then
  sleep 2
  fdbcli -C "$cluster" --timeout 60 --exec "configure new double ssd"
fi
fdbcli -C "$cluster" --timeout 60 --exec "status minimal"

for ((i = 0; i < nodes; i++)); do
  home=$dir/node$i
  mkdir -p "$home"
  cp "$cluster" "$home/fdb.cluster"
  setsid "$settee" serve --engine fdb --data "$home" --listen "127.0.0.1:$((port + i))" --node "couchdb@node$i" \
    --drain 2s >"$home/log" 2>&1 &
  running+=($!)
done
for ((i = 0; i < nodes; i++)); do
  url=http://127.0.0.1:$((port + i))
  until curl --fail --silent --output /dev/null "$url/_up"; do
    kill -0 "${running[$i]}" 2>/dev/null || { tail -n 5 "$dir/node$i/log" >&2; exit 1; }
    sleep 0.2
  done
  echo "couchdb@node$i: $url, process ${running[$i]}, log $dir/node$i/log"
done
echo "FoundationDB: fdbcli -C $cluster, processes ${servers[*]}. Ctrl-C stops everything; the data stays."
wait
