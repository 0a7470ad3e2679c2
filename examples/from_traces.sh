#!/bin/sh
# From traces and a network to a page: sh examples/from_traces.sh [NETWORK [PAIRS [FOLDER]]]
#
# Two jobs are profiled from PyTorch traces of their ranks. PAIRS copies of both (42) are placed on NETWORK, the 847
# hosts of Lingjun's cluster by default, and the placements are ranked. FOLDER (build/from-traces) takes what is made.
# Assumed: 8 GPUs in a host, 400 Gbit/s of each host, twice as much down as up in the racks, 40 Gbit/s where a trace
# has no bytes.
set -eu
cd "$(dirname "$0")/.."
network=${1:-tests/data/topology/lingjun-topo.csv} pairs=${2:-42} folder=${3:-build/from-traces}
mkdir -p "$folder"

cassini-core profile kineto tests/data/kineto/allreduce_3steps.json --id resnet50 -o "$folder/resnet50.json" > "$folder/profiles.txt"
cassini-core profile kineto tests/data/kineto/rank3_of_8.json.gz --id recommender --gbps 40 -o "$folder/recommender.json" \
  >> "$folder/profiles.txt"

{
  echo id,profile,workers,pattern
  for n in $(seq "$pairs"); do
    echo "resnet50-$n,resnet50.json,72,ring"
    echo "recommender-$n,recommender.json,88,all_to_all"
  done
} > "$folder/jobs.csv"

cassini-core topology "$network" --tier 1:gbps=400 --tier 2:oversubscription=2 -o - |
  cassini-core place - --jobs "$folder/jobs.csv" --gpus 8 |
  cassini-core rank - --with-problem |
  cassini-core report - -o "$folder/report.html"
