/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The part of the kernel's interface to BPF programs that edge.bpf.c uses: linux/bpf.h, linux/if_ether.h and
 * linux/in.h. It stands here so that the object depends on nothing but the compiler.
 */
#ifndef AIRPACE_KERNEL_H
#define AIRPACE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* Definition of maps that the loader reads from the type information. */
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, type) typeof(type) *name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_XSKMAP = 17,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum { BPF_ANY = 0, BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };
enum { XDP_PASS = 2, XDP_REDIRECT = 4 };

/* What an XDP program is given: the beginning of the frame is from data to data_end. */
struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

/* Helpers, by their number in the kernel's list. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 bytes, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *record, u64 flags) = (void *)133;
static u64 (*const bpf_ringbuf_query)(void *map, u64 what) = (void *)134;
static u64 (*const bpf_xdp_get_buff_len)(struct xdp_md *ctx) = (void *)188;
static long (*const bpf_xdp_load_bytes)(struct xdp_md *ctx, u32 offset, void *to, u32 bytes) = (void *)189;

/* BPF runs in the byte order of the machine; the object in the tree is for little-endian machines. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "edge.bpf.o is built for little-endian machines"
#endif
#define htons(x) ((u16)__builtin_bswap16(x))
#define ntohs(x) ((u16)__builtin_bswap16(x))

struct ethernet {
	u8 destination[6];
	u8 source[6];
	u16 type;
} __attribute__((packed));

struct vlan {
	u16 control;
	u16 type;
} __attribute__((packed));

struct ipv4 {
	u8 version_and_words;
	u8 traffic_class;
	u16 total_bytes;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 destination;
} __attribute__((packed));

struct ipv6 {
	u32 version_class_flow;
	u16 payload_bytes;
	u8 next_header;
	u8 hop_limit;
	u8 source[16];
	u8 destination[16];
} __attribute__((packed));

struct udp {
	u16 source;
	u16 destination;
	u16 bytes;
	u16 checksum;
} __attribute__((packed));

struct tcp {
	u16 source;
	u16 destination;
	u32 sequence;
	u32 acknowledged;
	u8 words_and_flags;
	u8 flags;
	u16 window;
	u16 checksum;
	u16 urgent;
} __attribute__((packed));

#endif
