/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The programs of the in-line box.
 *
 * edge_wan, on the port towards the wired network, hands unicast IP frames for known stations to an AF_XDP socket.
 * Every other frame, and every frame when nobody has written the heartbeat for a while, continues into the kernel's
 * bridge.
 *
 * edge_ap, on the ports towards the access points, lets every frame pass. It copies the headers that sensors need
 * into a ring buffer and counts frames by their source.
 *
 * `make bpf` compiles this file into edge.bpf.o, which is in the tree.
 */
#include "kernel.h"

/* The process is considered gone when its last sign of life is older than this. */
#define HEARTBEAT_NS 200000000ULL
/* A frame of an unknown source is reported at most once per this time and source. */
#define NOTICE_NS 1000000000ULL
/* Frames of a source that follow each other more closely came in one frame on the air (`FRAME_GAP` of the meter). */
#define BURST_GAP_NS 65000ULL
/* Bytes of a frame that are copied into a record, and fewer where the payload is encrypted. */
#define SNAP_BYTES 160
#define SNAP_QUIC 80
/* A DHCP message with its options, of the length that every host must accept (RFC 2131 section 2). */
#define SNAP_DHCP 600
/* Longest payload of a TCP segment that is reported: more is data, not an acknowledgement. */
#define SMALL_PAYLOAD 128
/* Records of acknowledgements do not wake the reader before this much waits for it. */
#define WAKE_BYTES 65536

#define ETH_IPV4 0x0800
#define ETH_ARP 0x0806
#define ETH_VLAN 0x8100
#define ETH_IPV6 0x86dd
#define ETH_QINQ 0x88a8
#define ETH_EAPOL 0x888e
#define ETH_PREAUTH 0x88c7

#define IP_TCP 6
#define IP_UDP 17
#define IP_ICMPV6 58
#define IP_SCTP 132

/* Why a frame took its way; the order is that of `InlineCounters` in the loader. */
enum outcome {
	REDIRECTED,
	PASSED_STALE,
	PASSED_GROUP,
	PASSED_UNKNOWN,
	PASSED_EXEMPT,
	PASSED_NOT_IP,
	PASSED_CONTROL,
	PASSED_LARGE,
	PASSED_NO_SOCKET,
	RECORDS,
	RECORDS_LOST,
	PASSED_MOVED,
	PASSED_TAGGED,
	OUTCOMES,
};

/* What a frame is; the numbers are those of `ObservationKind` in the loader. */
enum kind {
	KIND_ARP = 1,
	KIND_NEIGHBOUR = 2,
	KIND_DHCP = 3,
	KIND_EAPOL = 4,
	KIND_UNKNOWN_SOURCE = 5,
	KIND_TCP = 6,
	KIND_QUIC = 7,
	/* A frame on the wired port whose source was last heard at the port of an access point. */
	KIND_MOVED = 8,
	/* The first frame of a group with data from a station: until then it had the air. */
	KIND_DATA = 9,
	/* Never reported. */
	KIND_IP = 16,
	KIND_SCTP = 17,
	KIND_NOT_IP = 18,
};

/* A bit of a station's value: its frames pass although it is known. */
#define STATION_EXEMPT 1

struct mac {
	u8 bytes[6];
};

struct uplink {
	u64 frames;
	u64 bytes;
	/* Groups of frames that came at once, as those of one frame on the air do. */
	u64 bursts;
	/* When the last frame came, and when a frame was last reported because the source was unknown. */
	u64 last_ns;
	u64 noticed_ns;
	/* When the source was last noticed on the wired port after it had been heard here. */
	u64 moved_ns;
	/* The port where it was last heard. */
	u64 port;
};

/* What the process tells the programs; all zeroes before it has spoken. */
struct control {
	/* Its last sign of life. */
	u64 heartbeat_ns;
	/* Longest frame that is redirected: it must fit into a chunk of the socket, and into the MTU of the port.
	 * Longer than that are packets that the sender's kernel has joined (GSO), which generic XDP gets whole. */
	u64 max_frame;
	/* Not zero: frames with a VLAN tag pass, because the bridge filters VLANs. */
	u64 untagged_only;
};

struct record {
	u64 time_ns;
	u32 ifindex;
	/* Length of the whole frame, and how much of it follows. */
	u32 length;
	u16 captured;
	u8 kind;
	u8 reserved;
	/* Bytes that had come from the source through the ports of the access points before it, modulo 2^32. */
	u32 before;
};

struct short_record {
	struct record head;
	u8 frame[SNAP_BYTES];
};

struct dhcp_record {
	struct record head;
	u8 frame[SNAP_DHCP];
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_UINT(max_entries, 4096);
	MAP_TYPE(key, struct mac);
	MAP_TYPE(value, u32);
} STATIONS SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct control);
} CONTROL SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, OUTCOMES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} COUNTERS SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_XSKMAP);
	MAP_UINT(max_entries, 64);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} SOCKETS SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_UINT(max_entries, 8192);
	MAP_TYPE(key, struct mac);
	MAP_TYPE(value, struct uplink);
} UPLINK SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, 1 << 22);
} RECORDS_RING SEC(".maps");

INLINE void count(u32 outcome)
{
	u64 *counter = bpf_map_lookup_elem(&COUNTERS, &outcome);

	if (counter)
		*counter += 1;
}

/* What the process has said; 0 if its last sign of life is too old. */
INLINE struct control *control_if_alive(u64 now)
{
	u32 zero = 0;
	struct control *control = bpf_map_lookup_elem(&CONTROL, &zero);

	/* A beat that another CPU wrote after `now` was read is fresh too, hence the sign. */
	if (!control || (s64)(now - control->heartbeat_ns) >= (s64)HEARTBEAT_NS)
		return 0;
	return control;
}

/* What a UDP datagram is, by its ports. */
INLINE enum kind kind_of_udp(void *header, void *end, int v6)
{
	struct udp *udp = header;
	u16 from, to;

	if ((void *)(udp + 1) > end)
		return KIND_IP;
	from = ntohs(udp->source);
	to = ntohs(udp->destination);
	if (!v6 && (from == 67 || from == 68 || to == 67 || to == 68))
		return KIND_DHCP;
	if (v6 && (from == 546 || from == 547 || to == 546 || to == 547))
		return KIND_DHCP;
	return from == 443 || to == 443 ? KIND_QUIC : KIND_IP;
}

/* What a TCP segment is; `bytes` is its length with the header. */
INLINE enum kind kind_of_tcp(void *header, void *end, u32 bytes)
{
	struct tcp *tcp = header;
	u32 header_bytes;

	if ((void *)(tcp + 1) > end)
		return KIND_IP;
	header_bytes = (tcp->words_and_flags >> 4) * 4;
	return bytes <= header_bytes + SMALL_PAYLOAD ? KIND_TCP : KIND_IP;
}

INLINE enum kind kind_of_ipv4(void *header, void *end)
{
	struct ipv4 *ip = header;
	u32 header_bytes, total;

	if ((void *)(ip + 1) > end)
		return KIND_NOT_IP;
	if (ip->protocol == IP_SCTP)
		return KIND_SCTP;
	header_bytes = (ip->version_and_words & 15) * 4;
	total = ntohs(ip->total_bytes);
	/* Only the first fragment has the ports. */
	if (header_bytes < sizeof(*ip) || (ip->fragment & htons(0x1fff)))
		return KIND_IP;
	if (ip->protocol == IP_UDP)
		return kind_of_udp(header + header_bytes, end, 0);
	if (ip->protocol == IP_TCP && total > header_bytes)
		return kind_of_tcp(header + header_bytes, end, total - header_bytes);
	return KIND_IP;
}

INLINE enum kind kind_of_ipv6(void *header, void *end)
{
	struct ipv6 *ip = header;
	u8 *type;

	if ((void *)(ip + 1) > end)
		return KIND_NOT_IP;
	switch (ip->next_header) {
	case IP_SCTP:
		return KIND_SCTP;
	case IP_UDP:
		return kind_of_udp(ip + 1, end, 1);
	case IP_TCP:
		return kind_of_tcp(ip + 1, end, ntohs(ip->payload_bytes));
	case IP_ICMPV6:
		type = (void *)(ip + 1);
		/* Router and neighbour solicitations and advertisements, and redirects (RFC 4861). */
		return (void *)(type + 1) <= end && *type >= 133 && *type <= 137 ? KIND_NEIGHBOUR : KIND_IP;
	default:
		return KIND_IP;
	}
}

/* What the frame is, behind up to two VLAN tags. */
INLINE enum kind kind_of(struct ethernet *eth, void *end)
{
	void *at = eth + 1;
	u16 type = eth->type;

#pragma unroll
	for (int tag = 0; tag < 2; tag++) {
		struct vlan *vlan = at;

		if (type != htons(ETH_VLAN) && type != htons(ETH_QINQ))
			break;
		if ((void *)(vlan + 1) > end)
			return KIND_NOT_IP;
		type = vlan->type;
		at = vlan + 1;
	}
	switch (type) {
	case htons(ETH_IPV4):
		return kind_of_ipv4(at, end);
	case htons(ETH_IPV6):
		return kind_of_ipv6(at, end);
	case htons(ETH_ARP):
		return KIND_ARP;
	case htons(ETH_EAPOL):
	case htons(ETH_PREAUTH):
		return KIND_EAPOL;
	default:
		return KIND_NOT_IP;
	}
}

/* Fills a record with the beginning of the frame and submits it. `room` is the length of `frame`. */
INLINE void submit(struct xdp_md *ctx, struct record *head, u8 *frame, u32 room, enum kind kind, u64 now, u32 length,
		   u32 before)
{
	u32 captured = kind == KIND_QUIC || kind == KIND_DATA ? SNAP_QUIC : room;
	u64 wake = 0;

	if (captured > length)
		captured = length;
	/* The verifier wants to see that the length is neither zero nor beyond the record, of the very register that
	 * is passed on: the empty instruction keeps the compiler from reusing what it knows. */
	__asm__ volatile("" : "+r"(captured));
	if (captured < sizeof(struct ethernet) || captured > room || bpf_xdp_load_bytes(ctx, 0, frame, captured)) {
		bpf_ringbuf_discard(head, BPF_RB_NO_WAKEUP);
		return;
	}
	head->time_ns = now;
	head->ifindex = ctx->ingress_ifindex;
	head->length = length;
	head->captured = captured;
	head->kind = kind;
	head->reserved = 0;
	head->before = before;
	/* A wake-up per acknowledgement would cost more than the acknowledgement itself. */
	if (kind == KIND_TCP || kind == KIND_QUIC || kind == KIND_DATA)
		wake = bpf_ringbuf_query(&RECORDS_RING, BPF_RB_AVAIL_DATA) > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP :
											  BPF_RB_NO_WAKEUP;
	bpf_ringbuf_submit(head, wake);
	count(RECORDS);
}

/* Copies the beginning of the frame into the ring. A full ring loses the record and is counted. */
INLINE void report(struct xdp_md *ctx, enum kind kind, u64 now, u32 length, u32 before)
{
	struct short_record *record = bpf_ringbuf_reserve(&RECORDS_RING, sizeof(*record), 0);

	if (record)
		submit(ctx, &record->head, record->frame, SNAP_BYTES, kind, now, length, before);
	else
		count(RECORDS_LOST);
}

/* The same for DHCP, whose names and addresses stand far behind the headers. */
INLINE void report_dhcp(struct xdp_md *ctx, u64 now, u32 length)
{
	struct dhcp_record *record = bpf_ringbuf_reserve(&RECORDS_RING, sizeof(*record), 0);

	if (record)
		submit(ctx, &record->head, record->frame, SNAP_DHCP, KIND_DHCP, now, length, 0);
	else
		count(RECORDS_LOST);
}

INLINE int has_tag(struct ethernet *eth)
{
	return eth->type == htons(ETH_VLAN) || eth->type == htons(ETH_QINQ);
}

/*
 * Whether the source was last heard at the port of an access point: it has moved to the wired network, or a loop in
 * the wireless network has returned one of its frames. The bridge believes that it is behind that port until it sees
 * a frame from here. This is said once each time.
 */
INLINE int has_moved(struct ethernet *eth, u64 now)
{
	struct uplink *heard;
	struct mac from;

	__builtin_memcpy(&from, eth->source, sizeof(from));
	heard = bpf_map_lookup_elem(&UPLINK, &from);
	if (!heard || (s64)(heard->last_ns - heard->moved_ns) <= 0)
		return 0;
	heard->moved_ns = now;
	return 1;
}

SEC("xdp.frags")
int edge_wan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethernet *eth = data;
	u64 now = bpf_ktime_get_ns();
	struct control *control = control_if_alive(now);
	u32 length, *flags;
	enum kind kind;
	struct mac to;
	int moved;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (!control) {
		count(PASSED_STALE);
		return XDP_PASS;
	}
	length = bpf_xdp_get_buff_len(ctx);
	kind = kind_of(eth, end);
	/* Addresses are learnt from these, whomever they are for. */
	if (kind == KIND_DHCP)
		report_dhcp(ctx, now, length);
	else if (kind == KIND_ARP)
		report(ctx, kind, now, length, 0);
	moved = has_moved(eth, now);
	if (moved)
		report(ctx, KIND_MOVED, now, length, 0);
	if (eth->destination[0] & 1) {
		count(PASSED_GROUP);
		return XDP_PASS;
	}
	if (kind == KIND_NOT_IP || kind == KIND_EAPOL) {
		count(PASSED_NOT_IP);
		return XDP_PASS;
	}
	/* The checksum of SCTP cannot be completed in user space when the sender has left it to the device. */
	if (kind == KIND_ARP || kind == KIND_DHCP || kind == KIND_NEIGHBOUR || kind == KIND_SCTP) {
		count(PASSED_CONTROL);
		return XDP_PASS;
	}
	__builtin_memcpy(&to, eth->destination, sizeof(to));
	flags = bpf_map_lookup_elem(&STATIONS, &to);
	if (!flags) {
		count(PASSED_UNKNOWN);
		return XDP_PASS;
	}
	if (*flags & STATION_EXEMPT) {
		count(PASSED_EXEMPT);
		return XDP_PASS;
	}
	/* This frame teaches the bridge where its source is now; a redirected one would not. */
	if (moved) {
		count(PASSED_MOVED);
		return XDP_PASS;
	}
	if (control->untagged_only && has_tag(eth)) {
		count(PASSED_TAGGED);
		return XDP_PASS;
	}
	/* The socket would drop a frame in several buffers. */
	if (length > control->max_frame || length != (u32)(end - data)) {
		count(PASSED_LARGE);
		return XDP_PASS;
	}
	if (bpf_redirect_map(&SOCKETS, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT) {
		count(PASSED_NO_SOCKET);
		return XDP_PASS;
	}
	count(REDIRECTED);
	return XDP_REDIRECT;
}

/* What is new about the source of a frame. */
enum news {
	NO_NEWS,
	/* It begins a group of frames. */
	BEGINS_BURST,
	/* It has not been reported recently. */
	IS_DUE,
	/* It was heard at another port before: a station has roamed, and its frames are to follow it. */
	HAS_ROAMED,
};

/* Counts the frame by its source. `before` becomes the bytes that had come before it, modulo 2^32. */
INLINE enum news account(struct mac *from, u64 now, u32 length, u32 port, u32 *before)
{
	struct uplink first = {
		.frames = 1, .bytes = length, .bursts = 1, .last_ns = now, .noticed_ns = now, .port = port
	};
	struct uplink *known = bpf_map_lookup_elem(&UPLINK, from);
	enum news news = NO_NEWS;

	*before = 0;
	if (!known) {
		bpf_map_update_elem(&UPLINK, from, &first, BPF_ANY);
		return IS_DUE;
	}
	__sync_fetch_and_add(&known->frames, 1);
	*before = (u32)__sync_fetch_and_add(&known->bytes, length);
	if ((s64)(now - known->last_ns) >= (s64)BURST_GAP_NS) {
		__sync_fetch_and_add(&known->bursts, 1);
		news = BEGINS_BURST;
	}
	known->last_ns = now;
	if (known->port != port) {
		known->port = port;
		return HAS_ROAMED;
	}
	if (now - known->noticed_ns < NOTICE_NS)
		return news;
	known->noticed_ns = now;
	return IS_DUE;
}

SEC("xdp.frags")
int edge_ap(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethernet *eth = data;
	u64 now = bpf_ktime_get_ns();
	enum news news;
	enum kind kind;
	struct mac from;
	u32 length, before;

	if ((void *)(eth + 1) > end || !control_if_alive(now))
		return XDP_PASS;
	length = bpf_xdp_get_buff_len(ctx);
	kind = kind_of(eth, end);
	__builtin_memcpy(&from, eth->source, sizeof(from));
	news = account(&from, now, length, ctx->ingress_ifindex, &before);
	if (kind == KIND_DHCP)
		report_dhcp(ctx, now, length);
	else if (kind < KIND_IP)
		report(ctx, kind, now, length, before);
	else if (news == HAS_ROAMED || (news == IS_DUE && !bpf_map_lookup_elem(&STATIONS, &from)))
		report(ctx, KIND_UNKNOWN_SOURCE, now, length, before);
	else if (news == BEGINS_BURST && kind == KIND_IP && bpf_map_lookup_elem(&STATIONS, &from))
		report(ctx, KIND_DATA, now, length, before);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
