/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: what a run is made of, besides fabric and traffic. */
#pragma once

#include <string>
#include <vector>

#include "mrc_cc.h"

#include "shape.hpp"

namespace mrcsim
{
/* How packets are spread over paths. */
enum class Column : u8 {
	mrc,	   /* as the driver does */
	ecmp,	   /* one EV per plane, and switches that hash */
	oblivious, /* EVs are not looked at: the paths in turn, in an order that
		    * changes with each round */
	roce,	   /* a model of RoCE v2, see roce.hpp */
	roce_pfc,  /* the same with PFC */
};

constexpr bool is_roce(Column c)
{
	return c == Column::roce || c == Column::roce_pfc;
}

const char *column_name(Column c);
/* Throws mrclab::UsageError. */
Column column_of(const std::string &word);

/* Parameters of DCQCN. The numbers are those of its publication; times are ps,
 * rates bit/s. */
struct DcqcnCfg {
	bool on = true;
	u64 timer = 55'000'000;	      /* between increases of the rate */
	u64 alpha_timer = 55'000'000; /* between decreases of alpha */
	u64 bytes = 10'000'000;	      /* between increases of the rate */
	u64 ai = 0, hai = 0; /* 0: those for 40 Gb/s, in proportion */
	u64 cnp_period = 50'000'000; /* between CNPs */
	u64 between = 0;	     /* least time between decreases */
	u32 recovery = 5;	     /* steps of fast recovery */
	u32 gain = 8;		     /* g = 2^-gain */
};

/* What samples have of single flows and links. */
struct Series {
	std::vector<u32> flows; /* ascending; numbers from 0 */
	std::vector<u32> links;

	bool empty() const { return flows.empty() && links.empty(); }
};

/* What is recorded of a run, see record.hpp. */
struct Watch {
	std::vector<u32> qps;	/* ascending; connections */
	std::vector<u32> links; /* ascending; numbers of directions */

	bool empty() const { return qps.empty() && links.empty(); }
};

struct Settings {
	Column column = Column::mrc;
	u64 seed = 1;
	u32 evs = 256; /* of a queue pair, in all planes */
	u32 pmtu = 4096;
	u32 mpr = 0;	     /* units of 128 PSNs; 0: enough for the window */
	u64 rto = 1'048'576; /* ns */
	u64 base_rtt = 0;    /* ns; 0: that of the longest path */
	s32 extra = 38;	     /* bytes of a frame beyond the nominal size */
	u32 sack_bytes = 0;  /* 0: the engine's default */
	u32 nic_depth = 0;   /* packets of a NIC port; 0: as few as suffice */
	/*
	 * EV 0 of a host takes the uplink with the host's number within its T0,
	 * instead of a random one, and the next EVs take the next uplinks.
	 */
	bool aligned = false;
	bool reverse_probes = true; /* MRC 1.0 §11.8 */
	const mrc_cc_ops *cc = &mrc_cc_nscc;
	mrc_nscc_cfg nscc{};
	u64 end = 0;	/* ps; 0: until all flows are finished */
	u64 sample = 0; /* ps between samples; 0: none */
	Watch watch{};
	Series series{};
	u64 host_delay = 0; /* ps from the start of a flow to its NIC */
	DcqcnCfg dcqcn{};
	/* Packets of a direction that a node holds with PFC: when it asks for a
	 * pause, and until when. */
	u32 pfc_xoff = 15, pfc_xon = 12;
};

/* Something that happens to links. */
struct Fault {
	enum class Kind : u8 { down, up, loss, rate, restore };

	u64 at = 0; /* ps */
	Kind kind = Kind::down;
	std::vector<u32> links; /* numbers of directions */
	u64 rate = 0;
	double loss = 0;
};

/* Numbers that follow from fabric and settings. */
struct Derived {
	u32 packet = 0; /* bytes on the wire of a full data packet */
	u32 nominal = 0;
	u64 base_rtt = 0; /* ns */
	u64 nic_rate = 0; /* bit/s, of all ports of a host */
	u32 evs = 0;
	u32 mpr = 0;
	u32 nic_depth = 0;
	bool trim = false;
	u64 link_memory = 0;
	u64 qp_memory = 0; /* bytes of a queue pair in use */
};

/* Throws mrclab::UsageError for settings out of range. */
Derived derive(const Shape &shape, const Settings &s);
} // namespace mrcsim
