// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrcconform: queue pairs of libMRC, for devices whose verbs make no MRC ones.
 * The library is loaded at run time, so that it may be that of the vendor of
 * the device.
 */
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <mrc.h>

#include "api.hpp"

namespace mrcconform
{
namespace
{
/* MRC_QP_TIMEOUT is 1.024 us * 2^t, the timeout of verbs 4.096 us * 2^t. */
constexpr int timeout_shift = 2;
constexpr int max_timeout = 24;

/* Calls that return -1 have set errno. */
void check_errno(int ret, const char *what)
{
	if (ret)
		fail_errno(what, errno);
}

/* The functions that the target needs. */
struct Calls {
	explicit Calls(const std::string &library)
		: handle(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)),
		  name(library)
	{
		if (!handle)
			throw RunError(std::string("cannot load libMRC: ") +
				       dlerror());
		find(create_context, "mrc_create_context");
		find(destroy_context, "mrc_destroy_context");
		find(create_cq, "mrc_create_cq");
		find(poll_cq, "mrc_poll_cq");
		find(destroy_cq, "mrc_destroy_cq");
		find(create_qp, "mrc_create_qp");
		find(destroy_qp, "mrc_destroy_qp");
		find(query_qp, "mrc_query_qp");
		find(modify_qp, "mrc_modify_qp");
		find(get_qpn, "mrc_get_qpn");
		find(post_recv, "mrc_post_recv");
		find(post_send, "mrc_post_send");
		find(get_async_event, "mrc_get_async_event");
		find(ack_async_event, "mrc_ack_async_event");
	}

	template <typename F> void find(F &f, const char *symbol)
	{
		f = reinterpret_cast<F>(dlsym(handle, symbol));
		if (!f)
			throw RunError(name + " has no function " + symbol);
	}

	void *handle;
	std::string name;
	decltype(&::mrc_create_context) create_context;
	decltype(&::mrc_destroy_context) destroy_context;
	decltype(&::mrc_create_cq) create_cq;
	decltype(&::mrc_poll_cq) poll_cq;
	decltype(&::mrc_destroy_cq) destroy_cq;
	decltype(&::mrc_create_qp) create_qp;
	decltype(&::mrc_destroy_qp) destroy_qp;
	decltype(&::mrc_query_qp) query_qp;
	decltype(&::mrc_modify_qp) modify_qp;
	decltype(&::mrc_get_qpn) get_qpn;
	decltype(&::mrc_post_recv) post_recv;
	decltype(&::mrc_post_send) post_send;
	decltype(&::mrc_get_async_event) get_async_event;
	decltype(&::mrc_ack_async_event) ack_async_event;
};

/*
 * The events of a context. libMRC has no descriptor for them that could be
 * polled, so a thread waits for them.
 */
class Events
{
public:
	void put(const mrc_qp *qp, ibv_event_type type)
	{
		const std::lock_guard hold(lock_);

		events_[qp].emplace_back(event_name(type));
		came_.notify_all();
	}
	/* The device has gone. */
	void end()
	{
		const std::lock_guard hold(lock_);

		ended_ = true;
		came_.notify_all();
	}
	bool ended()
	{
		const std::lock_guard hold(lock_);

		return ended_;
	}
	std::vector<std::string> take(const mrc_qp *qp, uint32_t ms)
	{
		std::unique_lock hold(lock_);

		came_.wait_for(hold, std::chrono::milliseconds(ms),
			       [&] { return ended_ || events_.contains(qp); });
		auto got = std::exchange(events_[qp], {});
		events_.erase(qp);
		return got;
	}

private:
	std::mutex lock_;
	std::condition_variable came_;
	std::map<const mrc_qp *, std::vector<std::string>> events_;
	bool ended_ = false;
};

class MrcQueuePair : public QueuePair
{
public:
	MrcQueuePair(const Calls &calls, mrc_context *context, Events &events,
		     ibv_pd *pd)
		: calls_(calls), events_(events),
		  send_cq_(make_cq(context, send_depth)),
		  recv_cq_(make_cq(context, recv_depth)), qp_(nullptr, {calls})
	{
		mrc_qp_init_attr init{};

		init.send_cq = send_cq_.get();
		init.recv_cq = recv_cq_.get();
		init.pd = pd;
		init.cap.max_send_wr = send_depth;
		init.cap.max_recv_wr = recv_depth;
		init.cap.max_send_sge = 1;
		init.cap.max_recv_sge = 1;
		qp_.reset(check(calls_.create_qp(context, &init),
				"mrc_create_qp"));
	}

	/*
	 * mrc_destroy_qp() waits for events that were taken. After it there are
	 * no more, and another queue pair may get the address.
	 */
	~MrcQueuePair() override
	{
		const mrc_qp *const key = qp_.get();

		qp_.reset();
		events_.take(key, 0);
	}

	uint32_t qpn() const override
	{
		uint32_t n = 0;

		check_errno(calls_.get_qpn(qp_.get(), &n), "mrc_get_qpn");
		return n;
	}
	/* MRC has timeouts and retries of its own; the others are as in verbs.
	 */
	void modify(const ibv_qp_attr &attr, int mask) override
	{
		ibv_qp_attr a = attr;
		mrc_qp_attr own{};
		int own_mask = 0;

		/* The tester echoes timestamps as they are, and wants that,
		 * too. */
		if (attr.qp_state == IBV_QPS_RTR) {
			own.cap = MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;
			own_mask |= MRC_QP_CAP;
		}
		if (mask & IBV_QP_TIMEOUT) {
			/* 0 means no end in verbs. */
			own.timeout = static_cast<uint8_t>(
				attr.timeout ? std::min(attr.timeout +
								timeout_shift,
							max_timeout)
					     : max_timeout);
			own_mask |= MRC_QP_TIMEOUT;
		}
		if (mask & IBV_QP_RETRY_CNT) {
			own.retry.linear_cnt = attr.retry_cnt;
			own_mask |= MRC_QP_RETRY_CNT;
		}
		check(calls_.modify_qp(qp_.get(), &a, mask & ~unknown_bits,
				       &own, own_mask),
		      "mrc_modify_qp");
	}
	ibv_qp_state state() const override
	{
		ibv_qp_attr attr{};

		check(calls_.query_qp(qp_.get(), &attr, IBV_QP_STATE, nullptr,
				      0, nullptr),
		      "mrc_query_qp");
		return attr.qp_state;
	}
	void post_recv(ibv_recv_wr &wr) override
	{
		ibv_recv_wr *bad = nullptr;

		check_errno(calls_.post_recv(qp_.get(), &wr, &bad),
			    "mrc_post_recv");
	}
	void post_send(ibv_send_wr &wr) override
	{
		ibv_send_wr *bad = nullptr;

		check(calls_.post_send(qp_.get(), &wr, &bad), "mrc_post_send");
	}
	int poll(bool received, ibv_wc &wc) override
	{
		const int n = calls_.poll_cq(
			(received ? recv_cq_ : send_cq_).get(), 1, &wc);

		if (n < 0)
			fail_errno("mrc_poll_cq", errno);
		return n;
	}
	std::vector<std::string> events(uint32_t ms) override
	{
		return events_.take(qp_.get(), ms);
	}

private:
	/* What mrc.h does not support, and what MRC has of its own. */
	static constexpr int unknown_bits =
		IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
		IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;

	struct GiveBack {
		const Calls &calls;

		void operator()(mrc_cq *cq) const { calls.destroy_cq(cq); }
		void operator()(mrc_qp *qp) const { calls.destroy_qp(qp); }
	};
	using MrcCq = std::unique_ptr<mrc_cq, GiveBack>;

	MrcCq make_cq(mrc_context *context, uint32_t depth)
	{
		return MrcCq(
			check(calls_.create_cq(context, static_cast<int>(depth),
					       nullptr, nullptr, 0),
			      "mrc_create_cq"),
			{calls_});
	}

	/* Members are given back from the last to the first. */
	const Calls &calls_;
	Events &events_;
	MrcCq send_cq_, recv_cq_;
	std::unique_ptr<mrc_qp, GiveBack> qp_;
};

/* Is never given back: its thread waits for events as long as the device is
 * there. */
class MrcDevice : public Device
{
public:
	MrcDevice(const Calls &calls, ibv_device *device)
		: calls_(calls),
		  context_(check(ibv_open_device(device), "ibv_open_device"))
	{
		mrc_context_attr attr{};

		attr.mrc_api_version_used = MRC_API_VER_USED;
		mrc_ = check(calls_.create_context(context_.get(), &attr),
			     "mrc_create_context");
		std::thread([this] { wait_for_events(); }).detach();
	}

	bool gone() { return events_.ended(); }
	ibv_context *context() const override { return context_.get(); }
	std::unique_ptr<QueuePair> make_qp(ibv_pd *pd) override
	{
		return std::make_unique<MrcQueuePair>(calls_, mrc_, events_,
						      pd);
	}

private:
	void wait_for_events()
	{
		mrc_async_event e{};

		while (!calls_.get_async_event(mrc_, &e)) {
			switch (e.event_type) {
			case IBV_EVENT_QP_FATAL:
			case IBV_EVENT_QP_REQ_ERR:
			case IBV_EVENT_QP_ACCESS_ERR:
			case IBV_EVENT_QP_LAST_WQE_REACHED:
			case IBV_EVENT_COMM_EST:
				events_.put(e.element.qp, e.event_type);
				break;
			case IBV_EVENT_DEVICE_FATAL:
				events_.end();
				break;
			default:
				break;
			}
			calls_.ack_async_event(&e);
		}
	}

	const Calls &calls_;
	Events events_;
	Context context_;
	mrc_context *mrc_ = nullptr;
};

class MrcApi : public Api
{
public:
	explicit MrcApi(const std::string &library)
		: calls_(*new Calls(library))
	{
	}

	/* All testers share the context of a device, until the device goes. */
	std::shared_ptr<Device> open(ibv_device *device) override
	{
		auto &d = devices_[ibv_get_device_name(device)];

		if (!d || d->gone())
			d = new MrcDevice(calls_, device);
		return {d, [](Device *) {}};
	}

private:
	/* Threads of devices use them until the program ends. */
	const Calls &calls_;
	std::map<std::string, MrcDevice *> devices_;
};
} // namespace

std::unique_ptr<Api> mrc_api(const std::string &library)
{
	return std::make_unique<MrcApi>(library);
}
} // namespace mrcconform
