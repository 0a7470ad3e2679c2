// Marks packets with congestion experienced (CE) before a bottleneck, as the queue of a switch does.
//
// The token bucket below holds the queue but cannot mark. This program follows what that queue would hold if it drained
// at RATE_BPS: bytes are added as packets come and taken away as time passes. Between MARK_FROM and MARK_ALL bytes the
// share of marked packets grows from none to all. A packet whose sender knows nothing of ECN stays as it is.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#ifndef RATE_BPS
#error "RATE_BPS: bits a second of the bottleneck"
#endif

#define MARK_FROM 40000ULL   // bytes
#define MARK_ALL 120000ULL   // bytes
#define LONGEST_NS 1000000000ULL  // after so long any queue here is empty; keeps the product below from overflowing

struct queue {
  struct bpf_spin_lock lock;
  __u64 at_ns;
  __u64 bytes;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct queue);
} queues SEC(".maps");

SEC("tc")
int mark(struct __sk_buff* packet) {
  __u32 key = 0;
  struct queue* queue = bpf_map_lookup_elem(&queues, &key);
  if (!queue) return TC_ACT_OK;
  __u64 now_ns = bpf_ktime_get_ns();
  bpf_spin_lock(&queue->lock);
  __u64 passed_ns = now_ns > queue->at_ns ? now_ns - queue->at_ns : 0;
  if (passed_ns > LONGEST_NS) passed_ns = LONGEST_NS;
  __u64 drained = passed_ns * (RATE_BPS / 1000000ULL) / 8000ULL;
  __u64 bytes = (queue->bytes > drained ? queue->bytes - drained : 0) + packet->len;
  queue->bytes = bytes;
  queue->at_ns = now_ns;
  bpf_spin_unlock(&queue->lock);
  if (bytes > MARK_FROM) {
    __u64 chance = bytes >= MARK_ALL ? 1000 : (bytes - MARK_FROM) * 1000 / (MARK_ALL - MARK_FROM);
    if (bpf_get_prandom_u32() % 1000 < chance) bpf_skb_ecn_set_ce(packet);
  }
  return TC_ACT_OK;
}

char terms[] SEC("license") = "GPL";
