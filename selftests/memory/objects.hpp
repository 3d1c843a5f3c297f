/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs objects for the tests: both ends of a connection are queue pairs of
 * one program, on one device.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "../common/check.hpp"

constexpr size_t buf_size = 16384;
constexpr uint32_t most_sges = 32; /* of a work request of a Pair */

constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
/* What a window needs, and no remote access of the region's own. */
constexpr int bindable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;

class Dev
{
public:
	explicit Dev(const std::string &name); /* throws Failure */
	Dev(const Dev &) = delete;
	Dev &operator=(const Dev &) = delete;
	~Dev();

	ibv_context *ctx;
	ibv_pd *pd;
	uint8_t gid_index = 0;
	ibv_gid gid{};
};

class Pd
{
public:
	explicit Pd(Dev &d) : pd(made(ibv_alloc_pd(d.ctx), "PD")) {}
	Pd(const Pd &) = delete;
	Pd &operator=(const Pd &) = delete;
	~Pd() { ibv_dealloc_pd(pd); }

	ibv_pd *pd;
};

/* Pages of their own mapping, and a region of them. */
class Region
{
public:
	Region(ibv_pd *pd, int access, size_t size = buf_size);
	Region(const Region &) = delete;
	Region &operator=(const Region &) = delete;
	~Region();

	uint64_t addr() const { return reinterpret_cast<uintptr_t>(bytes); }
	/* Deregister; an errno. */
	int dereg();

	size_t size;
	uint8_t *bytes;
	ibv_mr *mr;
};

class Window
{
public:
	Window(ibv_pd *pd, ibv_mw_type type)
		: mw(made(ibv_alloc_mw(pd, type), "window"))
	{
	}
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;
	~Window() { drop(); }

	int drop();

	ibv_mw *mw;
};

/* Two connected queue pairs of @pd_a and @pd_b, and memory to write from. */
class Pair
{
public:
	Pair(Dev &d, ibv_pd *pd_a, ibv_pd *pd_b);
	explicit Pair(Dev &d) : Pair(d, d.pd, d.pd) {}
	Pair(const Pair &) = delete;
	Pair &operator=(const Pair &) = delete;
	~Pair();

	/* Post to @qp and wait for the completion: its status. */
	ibv_wc_status run(ibv_qp *qp, ibv_send_wr wr);
	/* A WRITE by a, of @len bytes @what. */
	ibv_wc_status write(uint64_t to, uint32_t rkey, uint32_t len = 8,
			    uint8_t what = 0x5a);
	ibv_wc_status read(uint64_t from, uint32_t rkey, uint32_t len = 8);
	ibv_wc_status add(uint64_t to, uint32_t rkey);
	/* By b, whose windows and regions these are. */
	ibv_wc_status bind(ibv_mw *mw, const Region &r, uint64_t addr,
			   uint64_t len, unsigned access);
	ibv_wc_status bind_key(ibv_mw *mw, uint32_t rkey, ibv_mr *mr,
			       uint64_t addr, uint64_t len, unsigned access);
	ibv_wc_status invalidate(uint32_t key);
	/* SEND_WITH_INV by a; b has a receive. */
	ibv_wc_status send_inv(uint32_t key);

	void drop_b(); /* destroys b's queue pair */

	ibv_cq *cq;
	ibv_qp *a;
	ibv_qp *b;
	Region src;

private:
	ibv_qp *make(ibv_pd *pd);
	void connect(ibv_qp *qp, ibv_qp *peer);
	ibv_wc_status wait();

	Dev &d_;
	uint64_t id_ = 1000;
};

/* The tests: each makes its own objects. */
void test_windows(Dev &d, tap::Report &report);
void test_windows_refused(Dev &d, tap::Report &report);
void test_rereg(Dev &d, tap::Report &report);
/*
 * Paging on demand, or that it is refused where the kernel cannot: the tests whose
 * name has @part in it.
 */
void test_paging(Dev &d, tap::Report &report, const std::string &part);
void test_paging_errors(Dev &d, tap::Report &report, const std::string &part);
void test_paging_lists(Dev &d, tap::Report &report, const std::string &part);
void test_paging_tenants(Dev &d, tap::Report &report, const std::string &part);
void test_paging_endless(Dev &d, tap::Report &report, const std::string &part);
/* This program is in @cgroup, a directory. */
void test_charged_datagrams(Dev &d, tap::Report &report, const std::string &cgroup);
/* Tells the kernel, until killed, that memory without pages, in a region or not, is not
 * needed. */
[[noreturn]] void take_away_for_ever(Dev &d, bool region, bool pages);

/* Prints "occupied" when all workers wait that so many programs can have. */
[[noreturn]] void occupy_workers(const std::string &device, unsigned programs);

/*
 * Make so many queue pairs, which stay in RESET. Says "begun" then, and does not
 * return. Throws Failure.
 */
[[noreturn]] void hold_queue_pairs(Dev &d, int n);
