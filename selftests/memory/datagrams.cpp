// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Datagrams that wait for memory: who pays for them, and what if he cannot. */
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "datagrams.hpp"
#include "faults.hpp"

namespace
{
using tap::Check;

constexpr unsigned datagrams = 64;
constexpr uint32_t datagram = 4096, slot = 2 * page;

/* Bytes that the kernel has for the programs of a memory cgroup. */
uint64_t kernel_memory(const std::string &cgroup)
{
	std::ifstream f(cgroup + "/memory.stat");
	std::string name;
	uint64_t bytes;

	while (f >> name >> bytes)
		if (name == "kernel")
			return bytes;
	throw Failure("no kernel memory in " + cgroup + "/memory.stat");
}

void charged(Dev &d, Check &c, const std::string &cgroup)
{
	Region out(d.pd, IBV_ACCESS_LOCAL_WRITE, datagram);
	Region in(d.pd, paged, datagrams * slot);
	Datagrams u(d, datagrams);
	Faults faults(in);
	ibv_wc wc{};

	for (unsigned i = 0; i < datagrams; i++)
		u.receive(in, i * slot, grh + datagram);
	const uint64_t before = kernel_memory(cgroup);
	const uint64_t full = before + datagrams * datagram;

	for (unsigned i = 0; i < datagrams; i++)
		u.send(out, datagram);
	const bool charges =
		in_time([&] { return kernel_memory(cgroup) >= full; });

	c.that(charges, "waiting datagrams: kernel memory was " +
				std::to_string(before) + " bytes and is " +
				std::to_string(kernel_memory(cgroup)) +
				", expected at least " + std::to_string(full));
	c.that(!u.received(wc), "no datagram has come");
	faults.serve();
	for (unsigned i = 0; i < datagrams; i++) {
		if (!in_time([&] { return u.received(wc); }))
			throw Failure(std::to_string(i) + " datagrams came");
		c.eq(wc.status, IBV_WC_SUCCESS, "receive");
		c.eq(wc.byte_len, grh + datagram, "length");
	}
	const bool returned = in_time(
		[&] { return kernel_memory(cgroup) < (before + full) / 2; });

	c.that(returned,
	       "afterwards it is " + std::to_string(kernel_memory(cgroup)));
}
/* How much a memory cgroup may have, while this exists. */
class Limit
{
public:
	/* So many bytes more than now. */
	Limit(const std::string &cgroup, uint64_t more) : file_(cgroup + "/memory.max")
	{
		std::ifstream f(cgroup + "/memory.current");
		uint64_t now = 0;

		f >> now;
		std::ofstream(file_) << now + more;
	}
	Limit(const Limit &) = delete;
	Limit &operator=(const Limit &) = delete;
	~Limit() { std::ofstream(file_) << "max"; }

private:
	const std::string file_;
};

class Counter
{
public:
	Counter(Dev &d, const std::string &name)
		: fd_(open((std::string("/sys/class/infiniband/") +
			    ibv_get_device_name(d.ctx->device) +
			    "/ports/1/hw_counters/" + name)
				   .c_str(),
			   O_RDONLY | O_CLOEXEC))
	{
		if (fd_ < 0)
			throw Failure("no counter " + name);
	}
	Counter(const Counter &) = delete;
	Counter &operator=(const Counter &) = delete;
	~Counter() { close(fd_); }

	uint64_t now() const
	{
		char text[32] = "";

		if (pread(fd_, text, sizeof(text) - 1, 0) <= 0)
			throw Failure("a counter cannot be read");
		return std::strtoull(text, nullptr, 10);
	}

private:
	const int fd_;
};

/* The memory cgroup is full: later datagrams are dropped, and nobody is killed. */
void full(Dev &d, Check &c, const std::string &cgroup)
{
	/* The copies take more than the kernel may have charged in advance: 64 pages
	 * on each of a few processors.
	 */
	constexpr unsigned pairs = 8, all = pairs * datagrams;
	/* This program must not need a page of its own meanwhile. */
	constexpr uint64_t spare = 64 << 10;
	Region out(d.pd, IBV_ACCESS_LOCAL_WRITE, datagram);
	std::vector<std::unique_ptr<Datagrams>> u;
	ibv_wc wc{};
	/* Opened now: this takes memory. */
	Counter page_wait(d, "rx_ud_page_wait"), no_receive(d, "rx_ud_no_receive");
	const auto waiting = [&] { return page_wait.now(); };
	const auto dropped = [&] { return no_receive.now(); };

	for (unsigned p = 0; p < pairs; p++)
		u.push_back(std::make_unique<Datagrams>(d, datagrams));
	if (mlockall(MCL_CURRENT))
		throw Failure("mlockall: " + errno_text(errno));
	/* Not locked: nobody serves its faults yet. */
	Region in(d.pd, paged, size_t{all} * slot);
	Faults faults(in);

	for (unsigned i = 0; i < all; i++)
		u[i / datagrams]->receive(in, uint64_t{i} * slot, grh + datagram);
	const uint64_t waited = waiting(), lost = dropped();

	{
		const Limit limit(cgroup, spare);

		for (auto &pair : u)
			for (unsigned i = 0; i < datagrams; i++)
				pair->send(out, datagram);
		c.that(in_time([&] {
			       return waiting() - waited + dropped() - lost == all;
		       }),
		       "datagrams that wait or were dropped: " +
			       std::to_string(waiting() - waited + dropped() - lost));
	}
	munlockall();
	const uint64_t kept = waiting() - waited;

	c.that(kept > 0 && kept < all, std::to_string(kept) + " datagrams wait");
	faults.serve();
	uint64_t came = 0;
	Datagrams *waits = nullptr; /* still has a receive */

	c.that(in_time([&] {
		       for (auto &pair : u) {
			       while (pair->received(wc)) {
				       c.eq(wc.status, IBV_WC_SUCCESS, "receive");
				       came++;
			       }
			       if (pair->came < datagrams)
				       waits = pair.get();
		       }
		       return came >= kept;
	       }),
	       std::to_string(came) + " datagrams came of " + std::to_string(kept));
	/* There is room again. */
	waits->send(out, datagram);
	c.that(in_time([&] { return waits->received(wc); }),
	       "a datagram afterwards");
}
} // namespace

void test_charged_datagrams(Dev &d, tap::Report &report,
			    const std::string &cgroup)
{
	if (!has_userfaultfd()) {
		std::printf("ok waiting datagrams # SKIP no userfaultfd\n");
	} else {
		report.run("waiting datagrams are charged to the program",
			   [&](Check &c) { charged(d, c, cgroup); });
		report.run("a full memory cgroup drops datagrams",
			   [&](Check &c) { full(d, c, cgroup); });
	}
}
