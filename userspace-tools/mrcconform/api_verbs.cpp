// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcconform: queue pairs of type RC, as any verbs program makes them. */
#include <map>
#include <utility>

#include <fcntl.h>
#include <poll.h>

#include "api.hpp"

namespace mrcconform
{
namespace
{
using VerbsCq = std::unique_ptr<ibv_cq, Deleter<ibv_destroy_cq>>;
using VerbsQp = std::unique_ptr<ibv_qp, Deleter<ibv_destroy_qp>>;

bool is_of_qp(ibv_event_type e)
{
	return e == IBV_EVENT_QP_FATAL || e == IBV_EVENT_QP_REQ_ERR ||
	       e == IBV_EVENT_QP_ACCESS_ERR ||
	       e == IBV_EVENT_QP_LAST_WQE_REACHED || e == IBV_EVENT_COMM_EST;
}

class VerbsDevice;

class VerbsQueuePair : public QueuePair
{
public:
	VerbsQueuePair(VerbsDevice &device, ibv_pd *pd);
	~VerbsQueuePair() override;

	uint32_t qpn() const override { return qp_->qp_num; }
	void modify(const ibv_qp_attr &attr, int mask) override
	{
		ibv_qp_attr a = attr;

		check(ibv_modify_qp(qp_.get(), &a, mask), "ibv_modify_qp");
	}
	ibv_qp_state state() const override
	{
		ibv_qp_attr attr{};
		ibv_qp_init_attr init{};

		check(ibv_query_qp(qp_.get(), &attr, IBV_QP_STATE, &init),
		      "ibv_query_qp");
		return attr.qp_state;
	}
	void post_recv(ibv_recv_wr &wr) override
	{
		ibv_recv_wr *bad = nullptr;

		check(ibv_post_recv(qp_.get(), &wr, &bad), "ibv_post_recv");
	}
	void post_send(ibv_send_wr &wr) override
	{
		ibv_send_wr *bad = nullptr;

		check(ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
	}
	int poll(bool received, ibv_wc &wc) override
	{
		const int n = ibv_poll_cq(
			(received ? recv_cq_ : send_cq_).get(), 1, &wc);

		if (n < 0)
			fail_errno("ibv_poll_cq", errno);
		return n;
	}
	std::vector<std::string> events(uint32_t ms) override;

private:
	/* Members are given back from the last to the first. */
	VerbsDevice &device_;
	VerbsCq send_cq_, recv_cq_;
	VerbsQp qp_;
};

class VerbsDevice : public Device
{
public:
	explicit VerbsDevice(ibv_device *device)
		: context_(check(ibv_open_device(device), "ibv_open_device"))
	{
		const int fd = context_->async_fd;

		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	}

	ibv_context *context() const override { return context_.get(); }
	std::unique_ptr<QueuePair> make_qp(ibv_pd *pd) override
	{
		return std::make_unique<VerbsQueuePair>(*this, pd);
	}

	/* Events of other queue pairs are kept for them. */
	std::vector<std::string> events(const ibv_qp *qp, uint32_t ms)
	{
		pollfd p{.fd = context_->async_fd,
			 .events = POLLIN,
			 .revents = 0};
		int wait = static_cast<int>(ms);

		while (::poll(&p, 1, wait) > 0) {
			ibv_async_event e{};

			if (ibv_get_async_event(context(), &e))
				break;
			if (is_of_qp(e.event_type))
				events_[e.element.qp].emplace_back(
					event_name(e.event_type));
			ibv_ack_async_event(&e);
			wait = 0;
		}
		auto got = std::exchange(events_[qp], {});
		events_.erase(qp);
		return got;
	}

private:
	Context context_;
	std::map<const ibv_qp *, std::vector<std::string>> events_;
};

VerbsCq make_cq(const VerbsDevice &device, uint32_t depth)
{
	return VerbsCq(
		check(ibv_create_cq(device.context(), static_cast<int>(depth),
				    nullptr, nullptr, 0),
		      "ibv_create_cq"));
}

VerbsQueuePair::VerbsQueuePair(VerbsDevice &device, ibv_pd *pd)
	: device_(device), send_cq_(make_cq(device, send_depth)),
	  recv_cq_(make_cq(device, recv_depth))
{
	ibv_qp_init_attr init{};

	init.qp_type = IBV_QPT_RC;
	init.send_cq = send_cq_.get();
	init.recv_cq = recv_cq_.get();
	init.cap.max_send_wr = send_depth;
	init.cap.max_recv_wr = recv_depth;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	qp_.reset(check(ibv_create_qp(pd, &init), "ibv_create_qp"));
}

/* ibv_destroy_qp() waits for events that were taken; the others go away. */
VerbsQueuePair::~VerbsQueuePair()
{
	device_.events(qp_.get(), 0);
}

std::vector<std::string> VerbsQueuePair::events(uint32_t ms)
{
	return device_.events(qp_.get(), ms);
}

class VerbsApi : public Api
{
public:
	std::shared_ptr<Device> open(ibv_device *device) override
	{
		return std::make_shared<VerbsDevice>(device);
	}
};
} // namespace

const char *event_name(ibv_event_type e)
{
	switch (e) {
	case IBV_EVENT_QP_FATAL:
		return "QP_FATAL";
	case IBV_EVENT_QP_REQ_ERR:
		return "QP_REQ_ERR";
	case IBV_EVENT_QP_ACCESS_ERR:
		return "QP_ACCESS_ERR";
	case IBV_EVENT_COMM_EST:
		return "COMM_EST";
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return "QP_LAST_WQE_REACHED";
	default:
		return "OTHER";
	}
}

std::unique_ptr<Api> verbs_api()
{
	return std::make_unique<VerbsApi>();
}
} // namespace mrcconform
