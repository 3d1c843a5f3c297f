// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: READ, atomic operations, and what fences promise.
 */
#include "common.h"
#include "ext_pair.h"

namespace
{
uint64_t load(const uint8_t *p)
{
	uint64_t v;

	std::memcpy(&v, p, sizeof(v));
	return v;
}

void check_read(ExtPair &p, uint64_t at, uint64_t remote, uint32_t len)
{
	size_t bad = p.peers().check(p.own() + at, remote, len);

	if (bad != len)
		fail("READ of %u bytes: byte %zu is wrong", len, bad);
}

Work read(uint64_t id, uint64_t at, uint64_t remote, uint32_t len)
{
	Work w;

	w.op = IBV_WR_RDMA_READ;
	w.id = id;
	w.at = at;
	w.remote = remote;
	w.len = len;
	return w;
}
} // namespace

void test_ext_read(Session &s)
{
	static const uint32_t lens[] = {0,    1,      7,      1023,   1024,
					1025, 4096,   4097,   65535,  65537,
					3,    200001, 524288, 1000000};

	for (uint8_t depth : {1, 8}) {
		ExtConfig c;

		c.rd_atomic = depth;
		ExtPair p(s, c);

		/* One by one, then all at once. */
		for (size_t i = 0; s.client && i < std::size(lens); i++) {
			uint64_t remote = mix(s.t.seed, i) %
					  (ExtPair::area_size - lens[i] + 1);
			Work w = read(i, 64, remote, lens[i]);

			w.pieces = 1 + i % 4;
			std::memset(p.own(), 0x77, lens[i] + 128);
			p.post(w);
			p.expect_send(i, IBV_WC_RDMA_READ);
			check_read(p, 64, remote, lens[i]);
			if (p.own()[63] != 0x77 ||
			    p.own()[64 + lens[i]] != 0x77)
				fail("READ of %u bytes wrote too much",
				     lens[i]);
		}
		if (s.client) {
			constexpr unsigned n = 48;
			std::vector<Work> list;

			for (unsigned i = 0; i < n; i++)
				list.push_back(read(i, i * 80000, i * 1000,
						    1000 + i * 1637));
			p.post(list);
			for (unsigned i = 0; i < n; i++)
				p.expect_send(i, IBV_WC_RDMA_READ);
			for (unsigned i = 0; i < n; i++)
				check_read(p, list[i].at, list[i].remote,
					   list[i].len);
		}
		s.oob.barrier(30);
	}
}

void test_ext_atomic(Session &s)
{
	ExtPair p(s);
	uint64_t count = s.t.iters ? s.t.iters : 100;
	constexpr uint64_t sum_at = 4096, swap_at = 8192, word_at = 8200;
	uint8_t word[8];

	if (s.client) {
		uint64_t value;

		p.peers().fill(word, sum_at, 8);
		value = load(word);
		/* All under way at once, as far as the QP allows. */
		for (uint64_t i = 0, done = 0; done < count;) {
			if (i < count && i - done < 32) {
				Work w;

				w.op = IBV_WR_ATOMIC_FETCH_AND_ADD;
				w.id = i;
				w.at = i % 64 * 8;
				w.len = 8;
				w.remote = sum_at;
				w.compare_add = i + 1;
				p.post(w);
				i++;
				continue;
			}
			p.expect_send(done, IBV_WC_FETCH_ADD);
			if (load(p.own() + done % 64 * 8) != value)
				fail("FETCH_AND_ADD %llu found a wrong value",
				     static_cast<unsigned long long>(done));
			value += ++done;
		}
		s.oob.send_pod(Msg::total, value);

		p.peers().fill(word, swap_at, 8);
		value = load(word);
		for (uint64_t i = 0; i < count; i++) {
			Work w;

			w.op = IBV_WR_ATOMIC_CMP_AND_SWP;
			w.id = i;
			w.len = 8;
			w.remote = swap_at;
			w.compare_add = i % 3 ? value : ~value;
			w.swap = i;
			p.post(w);
			p.expect_send(i, IBV_WC_COMP_SWAP);
			if (load(p.own()) != value)
				fail("CMP_AND_SWP %llu found a wrong value",
				     static_cast<unsigned long long>(i));
			if (i % 3)
				value = i;
		}
		s.oob.send_pod(Msg::total, value);

		/* A READ behind them sees the last one. */
		for (uint64_t i = 0; i < count; i++) {
			Work w, r = read(2 * i + 1, 128, word_at, 8);

			w.op = IBV_WR_ATOMIC_WRITE;
			w.id = 2 * i;
			w.remote = word_at;
			w.swap = mix(s.t.seed, i);
			p.post({w, r});
			p.expect_send(2 * i, IBV_WC_ATOMIC_WRITE);
			p.expect_send(2 * i + 1, IBV_WC_RDMA_READ);
			if (load(p.own() + 128) != w.swap)
				fail("an ATOMIC_WRITE is not what was read");
		}
	} else {
		uint64_t sum = 0, swap = 0;
		std::string a = s.oob.expect(Msg::total);
		std::string b = s.oob.expect(Msg::total);

		std::memcpy(&sum, a.data(), sizeof(sum));
		std::memcpy(&swap, b.data(), sizeof(swap));
		if (load(p.area() + sum_at) != sum)
			fail("the sum is not what the client computed");
		if (load(p.area() + swap_at) != swap)
			fail("the word is not what the client swapped in");
	}
	s.oob.barrier(31);
}

/*
 * A fenced work request begins when what was read is there: the SEND takes its
 * data from where the READ puts it.
 */
void test_ext_fence(Session &s)
{
	constexpr uint32_t len = 30000;
	ExtPair p(s);
	unsigned count = 60;

	if (!s.client)
		for (unsigned i = 0; i < 8; i++)
			p.post_recv(i, i * 65536, len);
	s.oob.barrier(32);
	for (unsigned i = 0; s.client && i < count; i++) {
		uint64_t remote = mix(s.t.seed, i) % (ExtPair::area_size - len);
		Work r = read(2 * i, 0, remote, len), w;

		w.id = 2 * i + 1;
		w.len = len;
		w.flags |= IBV_SEND_FENCE;
		std::memset(p.own(), 0x33, len);
		p.post({r, w});
		p.expect_send(2 * i, IBV_WC_RDMA_READ);
		p.expect_send(2 * i + 1, IBV_WC_SEND);
	}
	for (unsigned i = 0; !s.client && i < count; i++) {
		uint64_t remote = mix(s.t.seed, i) % (ExtPair::area_size - len);
		Wc w = p.expect(p.recv_cq(), i, IBV_WC_SUCCESS, "fenced SEND");
		size_t bad =
			p.mine().check(p.own() + i % 8 * 65536, remote, len);

		if (w.byte_len != len || bad != len)
			fail("fenced SEND %u: byte %zu was not read yet", i,
			     bad);
		p.post_recv(i + 8, i % 8 * 65536, len);
	}
	s.oob.barrier(33);
}
