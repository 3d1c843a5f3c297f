/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections between two devices, thousands of them one after the other.
 *
 * usage: mrc_life DEV GID-INDEX PEER-DEV PEER-GID-INDEX HOW CYCLES SEED
 *
 * HOW is "destroy": one process makes, connects, uses and destroys everything,
 * each time anew, also the context. The number of its file descriptors must not
 * grow.
 *
 * HOW is "kill": each connection has a process of its own, which is killed at a
 * random time, before, while or after it is made.
 *
 * HOW is "delete": for each line of the input there is traffic in both
 * directions, "carries" is said, and the traffic goes on until somebody deletes
 * DEV. "ended" is said when all objects are destroyed.
 *
 * HOW is "reset": two queue pairs are reset and connected with each other again
 * and again, each time with PSNs that begin behind those of the connection
 * before. Packets of former connections name the queue pairs, but are outside
 * of their windows.
 *
 * Prints progress, and a result as adopt() of lib_run.sh takes it.
 */
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "../common/check.hpp"
#include "../common/say.hpp"
#include "../common/verbs.hpp"

namespace
{
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t size = 65536;

struct Port {
	std::string dev;
	uint8_t gid_index = 0;
};

struct Close {
	void operator()(ibv_context *c) const { ibv_close_device(c); }
	void operator()(ibv_cq *c) const { ibv_destroy_cq(c); }
	void operator()(ibv_qp *q) const { ibv_destroy_qp(q); }
};

std::unique_ptr<ibv_context, Close> opened(const std::string &name)
{
	int n = 0;
	ibv_device **list = ibv_get_device_list(&n);
	std::unique_ptr<ibv_context, Close> ctx;

	for (int i = 0; list && i < n && !ctx; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx.reset(ibv_open_device(list[i]));
	if (list)
		ibv_free_device_list(list);
	made(ctx.get(), name.c_str());
	return ctx;
}

/* One end of a connection, with all that it needs. */
class End
{
public:
	explicit End(const Port &p)
		: ctx_(opened(p.dev)), mem_(ctx_.get(), size),
		  cq_(made(ibv_create_cq(ctx_.get(), 64, nullptr, nullptr, 0),
			   "CQ")),
		  index_(p.gid_index)
	{
		ibv_qp_init_attr init{};

		if (ibv_query_gid(ctx_.get(), 1, index_, &gid_))
			throw Failure("no GID");
		init.send_cq = init.recv_cq = cq_.get();
		init.cap = {.max_send_wr = 32,
			    .max_recv_wr = 32,
			    .max_send_sge = 1,
			    .max_recv_sge = 1,
			    .max_inline_data = 0};
		init.qp_type = IBV_QPT_RC;
		qp_.reset(made(ibv_create_qp(mem_.pd(), &init), "QP"));
	}

	void reset()
	{
		ibv_qp_attr attr{};

		attr.qp_state = IBV_QPS_RESET;
		step(attr, IBV_QP_STATE, "RESET");
	}

	/* Both directions begin with @psn. */
	void connect(const End &peer, uint32_t psn = 0)
	{
		ibv_qp_attr attr = init_attr();

		step(attr, init_mask, "INIT");
		attr = rtr_attr(peer.qp_->qp_num, IBV_MTU_4096, index_,
				peer.gid_);
		attr.rq_psn = psn;
		attr.max_dest_rd_atomic = 4;
		attr.min_rnr_timer = 1;
		step(attr,
		     rtr_mask | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER,
		     "RTR");
		attr = {};
		attr.qp_state = IBV_QPS_RTS;
		attr.sq_psn = psn;
		attr.timeout = 18;
		attr.retry_cnt = 7;
		attr.rnr_retry = 7;
		attr.max_rd_atomic = 4;
		step(attr,
		     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC,
		     "RTS");
	}

	void post(const End &peer, uint32_t len, uint32_t from = 0)
	{
		Write w(mem_, peer.mem_, len);

		w.sge.addr += from;
		w.wr.wr.rdma.remote_addr += from;
		ibv_send_wr *bad = nullptr;

		if (const int ret = ibv_post_send(qp_.get(), &w.wr, &bad))
			throw Failure("post: " + errno_text(ret));
	}

	/* Waits for the completion of one WRITE. */
	void wait()
	{
		const auto limit = clock::now() + 60s;
		ibv_wc wc{};

		while (ibv_poll_cq(cq_.get(), 1, &wc) != 1)
			if (clock::now() > limit)
				throw Failure("no completion within 60 s");
		if (wc.status != IBV_WC_SUCCESS)
			throw Failure(ibv_wc_status_str(wc.status));
	}

	/* Polls once: has a WRITE completed? Throws if it has failed. */
	bool one_done()
	{
		ibv_wc wc{};

		if (ibv_poll_cq(cq_.get(), 1, &wc) != 1)
			return false;
		if (wc.status != IBV_WC_SUCCESS)
			throw Failure(ibv_wc_status_str(wc.status));
		return true;
	}

	/* Is the device gone? Waits up to this time for an event. */
	bool gone(std::chrono::milliseconds limit)
	{
		const auto until = clock::now() + limit;
		pollfd p{.fd = ctx_->async_fd, .events = POLLIN, .revents = 0};
		ibv_async_event event{};

		do {
			const auto left = std::chrono::duration_cast<
				std::chrono::milliseconds>(until -
							   clock::now());

			if (poll(&p, 1,
				 static_cast<int>(
					 std::max(left, 0ms).count())) < 1)
				return false;
			if (ibv_get_async_event(ctx_.get(), &event))
				throw Failure("no event");
			ibv_ack_async_event(&event);
		} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
		return true;
	}

	std::vector<uint8_t> &bytes() { return mem_.bytes; }

private:
	void step(ibv_qp_attr &attr, int mask, const char *what)
	{
		if (const int ret = ibv_modify_qp(qp_.get(), &attr, mask))
			throw Failure(std::string(what) + ": " +
				      errno_text(ret));
	}

	std::unique_ptr<ibv_context, Close> ctx_;
	Memory mem_;
	std::unique_ptr<ibv_cq, Close> cq_;
	std::unique_ptr<ibv_qp, Close> qp_;
	uint8_t index_;
	ibv_gid gid_{};
};

/* The script waits for this line. */
void tell(const char *what)
{
	say("%s", what);
	std::fflush(stdout);
}

constexpr int depth = 8; /* WRITEs under way in each direction */

/* If a WRITE of an end is done, it is posted anew. Returns how many were. */
unsigned go_on(End &a, End &b)
{
	unsigned n = 0;

	for (End *e : {&a, &b})
		if (e->one_done()) {
			e->post(e == &a ? b : a, size);
			n++;
		}
	return n;
}

void until_deleted(const Port &here, const Port &there)
{
	End a(here), b(there);
	unsigned done = 0;

	a.connect(b);
	b.connect(a);
	try {
		for (int i = 0; i < 2 * depth; i++)
			(i % 2 ? a : b).post(i % 2 ? b : a, size);
		while (!a.gone(0ms)) {
			const unsigned was = done;

			done += go_on(a, b);
			if (was < 2 * depth && done >= 2 * depth)
				tell("carries");
		}
	} catch (const Failure &) {
		/* Its work requests are flushed, and none can be posted. */
		if (!a.gone(60s))
			throw;
	}
	if (done < 2 * depth)
		throw Failure("the device was deleted too early");
}

std::size_t descriptors()
{
	std::size_t n = 0;

	for ([[maybe_unused]] const auto &e :
	     std::filesystem::directory_iterator("/proc/self/fd"))
		n++;
	return n;
}

void once(const Port &here, const Port &there, uint8_t with)
{
	End a(here), b(there);

	a.connect(b);
	b.connect(a);
	std::memset(a.bytes().data(), with, size);
	std::memset(b.bytes().data(), ~with, size);
	a.post(b, size);
	a.wait();
	if (b.bytes() != a.bytes())
		throw Failure("the data differ");
}

/*
 * In both directions at once, some messages: packets of one connection are
 * still under way when the next one begins, if the network delays or repeats
 * them.
 */
void exchange(End &a, End &b, uint8_t with)
{
	constexpr int messages = 4;

	std::memset(a.bytes().data(), with, size);
	std::memset(b.bytes().data() + size / 2, ~with, size / 2);
	for (int i = 0; i < messages; i++) {
		a.post(b, size / 2);
		b.post(a, size / 2, size / 2);
	}
	for (int i = 0; i < messages; i++) {
		a.wait();
		b.wait();
	}
	if (b.bytes() != a.bytes())
		throw Failure("the data differ");
}

void reset(const Port &here, const Port &there, unsigned cycles, tap::Check &c)
{
	/* More PSNs than a connection takes and a window has. */
	constexpr uint32_t stride = 2048;
	End a(here), b(there);

	for (unsigned i = 0; i < cycles; i++) {
		const uint32_t psn = i * stride & 0xffffff;

		for (End *e : {&a, &b})
			e->reset();
		a.connect(b, psn);
		b.connect(a, psn);
		exchange(a, b, static_cast<uint8_t>(i));
	}
	c.that(cycles > 1, "no connection was made again");
}

/* In a process of its own: traffic in both directions, until it is killed. */
[[noreturn]] void until_killed(const Port &here, const Port &there, int ready)
{
	try {
		End a(here), b(there);

		a.connect(b);
		b.connect(a);
		if (write(ready, "", 1) != 1)
			throw Failure("pipe");
		for (End *e : {&a, &b})
			for (int i = 0; i < 8; i++)
				e->post(e == &a ? b : a, size);
		for (;;)
			for (End *e : {&a, &b}) {
				e->wait();
				e->post(e == &a ? b : a, size);
			}
	} catch (const Failure &f) {
		say("# the process that is to be killed: %s", f.what());
	}
	_exit(3);
}

/* Returns whether the connection was made before the kill. */
bool one_killed(const Port &here, const Port &there,
		std::chrono::microseconds after)
{
	std::array<int, 2> ready{};
	char any = 0;
	int status = 0;

	if (pipe(ready.data()))
		throw Failure("no pipe");
	const pid_t pid = fork();

	if (pid < 0)
		throw Failure("no process");
	if (!pid) {
		close(ready[0]);
		until_killed(here, there, ready[1]);
	}
	close(ready[1]);
	std::this_thread::sleep_for(after);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		throw Failure("no end of the process");
	const bool connected = read(ready[0], &any, 1) == 1;

	close(ready[0]);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		throw Failure("the process ended by itself, status " +
			      std::to_string(status));
	return connected;
}

void destroyed(const Port &here, const Port &there, unsigned cycles,
	       tap::Check &c)
{
	std::size_t fds = 0;

	for (unsigned i = 0; i < cycles; i++) {
		once(here, there, static_cast<uint8_t>(i));
		if (!i)
			fds = descriptors();
		if (i % 1000 == 999)
			say("# %u of %u", i + 1, cycles);
	}
	c.eq(descriptors(), fds, "file descriptors");
}

void deleted(const Port &here, const Port &there, unsigned cycles,
	     tap::Check &c)
{
	std::string line;
	std::size_t fds = 0;
	unsigned n = 0;

	for (; std::getline(std::cin, line); n++) {
		until_deleted(here, there);
		tell("ended");
		if (!n)
			fds = descriptors();
	}
	c.eq(n, cycles, "cycles");
	c.eq(descriptors(), fds, "file descriptors");
}

/*
 * How long the way to a connection takes depends on the machine. So the times
 * before the kill range up to twice what it takes here.
 */
void killed(const Port &here, const Port &there, unsigned cycles, uint64_t seed,
	    tap::Check &c)
{
	std::mt19937_64 random(seed);
	auto since = clock::now();
	unsigned connected = 0;

	for (int i = 0; i < 10; i++)
		once(here, there, 0);
	const auto takes =
		std::chrono::duration_cast<std::chrono::microseconds>(
			clock::now() - since) /
		10;
	std::uniform_int_distribution<int64_t> up_to(0, 2 * takes.count());

	for (unsigned i = 0; i < cycles; i++) {
		connected += one_killed(
			here, there, std::chrono::microseconds(up_to(random)));
		if (i % 1000 == 999)
			say("# %u of %u", i + 1, cycles);
	}
	say("# %u of %u processes were connected when they were killed",
	    connected, cycles);
	if (cycles >= 20)
		c.that(connected > 0, "no process was connected");
	once(here, there, 1);
}
} // namespace

int main(int argc, char **argv)
try {
	if (argc != 8)
		fail("usage: mrc_life DEV GID-INDEX PEER-DEV PEER-GID-INDEX "
		     "destroy|kill|delete|reset CYCLES SEED");
	const Port here{argv[1], static_cast<uint8_t>(std::stoul(argv[2]))};
	const Port there{argv[3], static_cast<uint8_t>(std::stoul(argv[4]))};
	const std::string how = argv[5];
	const auto cycles = static_cast<unsigned>(std::stoul(argv[6]));
	tap::Report report;

	report.run(how + " " + argv[6] + " connections", [&](tap::Check &c) {
		if (how == "kill")
			killed(here, there, cycles, std::stoull(argv[7]), c);
		else if (how == "delete")
			deleted(here, there, cycles, c);
		else if (how == "reset")
			reset(here, there, cycles, c);
		else
			destroyed(here, there, cycles, c);
	});
	return report.good() ? 0 : 1;
} catch (const std::exception &e) {
	say("mrc_life: %s", e.what());
	return 2;
}
