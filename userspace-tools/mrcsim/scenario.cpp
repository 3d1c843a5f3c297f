// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "mrc_ev.h"

#include "error.hpp"
#include "fabric_file.hpp"
#include "fabric_shape.hpp"
#include "topo_file.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrcsim
{
using mrclab::FileError;
using mrclab::parse_count;
using mrclab::UsageError;
using mrclab::YamlFile;

namespace
{
/* Frames of htsim have 64 bytes around the payload, the nominal size has 98. */
constexpr s32 htsim_extra = -34;
constexpr u64 ps_per_ns = 1000;

/* Like parse_size(), up to @most bytes. */
u64 traffic_size(const std::string &w, u64 most)
{
	if (w.ends_with("g"))
		return parse_count(std::string_view(w).substr(0, w.size() - 1),
				   1, most >> 30)
		       << 30;
	if (w.find_first_not_of("0123456789") == std::string::npos)
		return parse_count(w, 1, most);
	return mrclab::parse_size(w);
}

std::string beside(const std::string &file, const std::string &name)
{
	const std::filesystem::path p(name);

	return p.is_absolute() ? name
			       : (std::filesystem::path(file).parent_path() / p)
					 .string();
}

u32 percent(const std::string &w, u32 most)
{
	return static_cast<u32>(parse_count(
		w.ends_with("%") ? w.substr(0, w.size() - 1) : w, 0, most));
}

struct ScenarioReader {
	ScenarioReader(const YamlFile &y, Scenario &to) : yaml(y), s(to) {}

	const YamlFile &yaml;
	Scenario &s;
	QueueRules rules{};
	u64 node_delay = 0;
	std::string fabric, topo, forwarding;
	int fabric_line = 0;
	bool clos = false, frame = false, htsim = false;
	bool has_traffic = false;
	std::vector<std::pair<u64, YAML::Node>> fault_nodes{};
	std::vector<std::string> series_links{};
	YAML::Node series_node{};

	template <typename T>
	YamlFile::Key count(std::string_view key, T &to, u64 min, u64 max) const
	{
		return {key, [&to, min, max](const YAML::Node &v) {
				to = static_cast<T>(parse_count(
					YamlFile::word(v), min, max));
			}};
	}
	YamlFile::Key time_ps(std::string_view key, u64 &to) const
	{
		return {key, [&to](const YAML::Node &v) {
				to = mrclab::parse_time(YamlFile::word(v)) *
				     ps_per_ns;
			}};
	}
	YamlFile::Key time_ns(std::string_view key, u64 &to) const
	{
		return {key, [&to](const YAML::Node &v) {
				to = mrclab::parse_time(YamlFile::word(v));
			}};
	}
	YamlFile::Key time_ns(std::string_view key, u32 &to) const
	{
		return {key, [&to](const YAML::Node &v) {
				const u64 ns =
					mrclab::parse_time(YamlFile::word(v));

				if (ns > 1'000'000'000)
					throw UsageError("more than a second");
				to = static_cast<u32>(ns);
			}};
	}

	void read_clos(const YAML::Node &node)
	{
		u64 rate = 0, host_rate = 0, link = 500 * ps_per_ns,
		    node_ps = 500 * ps_per_ns;
		Shape &f = s.shape;

		clos = true;
		yaml.map(node, "clos",
			 {count("planes", f.planes, 1, 16),
			  count("pods", f.pods, 1, 1 << 16),
			  count("t0", f.t0, 1, 1 << 16),
			  count("t1", f.t1, 0, 1 << 16),
			  count("hosts", f.hosts, 1, 1 << 16),
			  count("bundle", f.bundle, 1, 1 << 10),
			  count("t1_uplinks", f.t1_uplinks, 1, 0xffff),
			  {"rate",
			   [&](const YAML::Node &v) {
				   rate = mrclab::parse_rate(YamlFile::word(v));
			   }},
			  {"host_rate",
			   [&](const YAML::Node &v) {
				   host_rate = mrclab::parse_rate(
					   YamlFile::word(v));
			   }},
			  time_ps("link_delay", link),
			  time_ps("switch_delay", node_ps)});
		if (!rate)
			yaml.fail(node, "\"rate\" is missing");
		f.tiers = f.t1_uplinks ? 3 : 2;
		if (f.tiers == 2 && f.pods > 1)
			yaml.fail(node, "several pods need \"t1_uplinks\"");
		for (std::size_t k = 0; k < kinds; k++) {
			LinkSpec &l = f.spec[k];
			const auto kind = static_cast<Kind>(k);

			l.rate = kind <= Kind::host_down && host_rate
					 ? host_rate
					 : rate;
			/* The last one leads to a host. */
			l.delay =
				link + (kind == Kind::host_down ? 0 : node_ps);
		}
	}

	void read_queues(const YAML::Node &node)
	{
		const auto style = [this](const YAML::Node &v) {
			const std::string w = YamlFile::word(v);

			if (w != "mrc" && w != "htsim" && w != "drop")
				throw UsageError(fmt::format(
					"\"{}\" is none of mrc, htsim, drop",
					w));
			htsim = w == "htsim";
			rules = {};
			if (w != "mrc") {
				rules.last_hop = true;
				rules.last_hop_share = 100;
			}
			rules.trim = w != "drop";
		};

		if (node.IsScalar())
			return style(node);
		yaml.map(node, "queues",
			 {{"style", style},
			  {"trim",
			   [this](const YAML::Node &v) {
				   rules.trim = YamlFile::truth(v);
			   }},
			  {"last_hop_marks",
			   [this](const YAML::Node &v) {
				   rules.last_hop = YamlFile::truth(v);
			   }},
			  {"depth",
			   [this](const YAML::Node &v) {
				   rules.depth =
					   percent(YamlFile::word(v), 10000);
			   }},
			  {"last_hop",
			   [this](const YAML::Node &v) {
				   rules.last_hop_share =
					   percent(YamlFile::word(v), 10000);
			   }},
			  {"mark", [this](const YAML::Node &v) {
				   const std::string w = YamlFile::word(v);
				   const std::size_t dots = w.find("..");

				   if (dots == std::string::npos)
					   throw UsageError(
						   "marks are \"20%..80%\" of "
						   "the BDP");
				   rules.mark_min =
					   percent(w.substr(0, dots), 10000);
				   rules.mark_max =
					   percent(w.substr(dots + 2), 10000);
				   if (rules.mark_max < rules.mark_min)
					   throw UsageError(
						   "marks begin at the smaller "
						   "length");
			   }}});
	}

	void read_engine(const YAML::Node &node)
	{
		Settings &t = s.settings;
		mrc_nscc_cfg &n = t.nscc;
		const auto nscc = [&](const YAML::Node &v) {
			yaml.map(v, "nscc",
				 {count("max_cwnd", n.max_cwnd, 1, 0x7fffffff),
				  count("fi", n.fi, 1, 0x7fffffff),
				  count("eta", n.eta, 1, 0x7fffffff),
				  time_ns("target_delay", n.target_delay),
				  time_ns("qa_threshold", n.qa_threshold),
				  count("qa_gate", n.qa_gate, 1, 31),
				  {"disable_qa", [&n](const YAML::Node &b) {
					   n.disable_qa = YamlFile::truth(b);
				   }}});
		};

		yaml.map(node, "engine",
			 {count("evs", t.evs, 1, MRC_EV_MAX),
			  count("mtu", t.pmtu, 256, 4096),
			  count("range", t.mpr, 1, 255),
			  time_ns("rto", t.rto),
			  time_ns("base_rtt", t.base_rtt),
			  count("sack_bytes", t.sack_bytes, 1, 1 << 24),
			  count("nic_depth", t.nic_depth, 1, 1 << 16),
			  time_ps("host_delay", t.host_delay),
			  {"reverse_probes",
			   [&t](const YAML::Node &v) {
				   t.reverse_probes = YamlFile::truth(v);
			   }},
			  {"paths",
			   [&t](const YAML::Node &v) {
				   const std::string w = YamlFile::word(v);

				   if (w != "random" && w != "aligned")
					   throw UsageError(fmt::format(
						   "\"{}\" is neither random "
						   "nor aligned",
						   w));
				   t.aligned = w == "aligned";
			   }},
			  {"frame",
			   [&](const YAML::Node &v) {
				   const std::string w = YamlFile::word(v);
				   const bool minus = w.starts_with("-");
				   const auto b = static_cast<s32>(parse_count(
					   std::string_view(w).substr(minus), 0,
					   1000));

				   frame = true;
				   t.extra = minus ? -b : b;
			   }},
			  {"cc",
			   [&](const YAML::Node &v) {
				   const std::string w = YamlFile::word(v);

				   t.cc = mrc_cc_find(w == "nscc"
							      ? MRC_CC_NSCC_NAME
							      : w.c_str());
				   if (!t.cc || w == MRC_CC_NSCC_NAME)
					   throw UsageError(fmt::format(
						   "\"{}\" is none of nscc, "
						   "vegas, none",
						   w));
			   }},
			  {"nscc", nscc}});
	}

	void read_dcqcn(const YAML::Node &node)
	{
		DcqcnCfg &d = s.settings.dcqcn;
		const auto rate = [](std::string_view key, u64 &to) {
			return YamlFile::Key{
				key, [&to](const YAML::Node &v) {
					to = mrclab::parse_rate(
						YamlFile::word(v));
				}};
		};

		if (node.IsScalar()) {
			d.on = YamlFile::truth(node);
			return;
		}
		yaml.map(node, "dcqcn",
			 {time_ps("timer", d.timer),
			  time_ps("alpha_timer", d.alpha_timer),
			  time_ps("cnp", d.cnp_period),
			  time_ps("between", d.between),
			  count("bytes", d.bytes, 1, 1 << 30), rate("ai", d.ai),
			  rate("hai", d.hai),
			  count("recovery", d.recovery, 0, 1000),
			  count("gain", d.gain, 1, 15)});
		if (!d.timer || !d.alpha_timer)
			yaml.fail(node, "a timer of no time");
	}

	void read_roce(const YAML::Node &node)
	{
		Settings &t = s.settings;

		yaml.map(node, "roce",
			 {count("xoff", t.pfc_xoff, 1, 1 << 20),
			  count("xon", t.pfc_xon, 0, 1 << 20),
			  {"dcqcn",
			   [this](const YAML::Node &v) { read_dcqcn(v); }}});
		if (t.pfc_xon >= t.pfc_xoff)
			yaml.fail(node, "\"xon\" is less than \"xoff\"");
	}

	/* Names are looked up when the fabric is known. */
	void read_series(const YAML::Node &node)
	{
		yaml.map(node, "series",
			 {{"flows",
			   [this](const YAML::Node &v) {
				   const std::vector<std::string> w =
					   yaml.words(v, "flows");

				   s.all_flows = w.size() == 1 && w[0] == "all";
				   if (s.all_flows)
					   return;
				   for (const std::string &n : w)
					   s.settings.series.flows.push_back(
						   static_cast<u32>(parse_count(
							   n, 1, 1 << 28)) -
						   1);
			   }},
			  {"queues", [this](const YAML::Node &v) {
				   series_links = yaml.words(v, "queues");
				   series_node = v;
			   }}});
	}

	void apply_series()
	{
		for (const std::string &name : series_links) {
			const std::vector<u32> ids = s.shape.named(name);

			if (ids.empty())
				yaml.fail(series_node,
					  fmt::format("\"{}\" is no link of the "
						      "fabric; one is named "
						      "like p1l1:h1",
						      name));
			s.settings.series.links.insert(
				s.settings.series.links.end(), ids.begin(),
				ids.end());
		}
		if ((s.all_flows || !s.settings.series.empty()) &&
		    !s.settings.sample)
			yaml.fail(yaml.root(), "\"series\" needs \"sample\"");
	}

	void read_part(const std::string &pattern, const YAML::Node &node)
	{
		Scenario::Part p;
		/* An all-reduce sends its buffer in parts. */
		const u64 most = pattern == "allreduce" ? most_buffer
							: most_bytes;
		const YamlFile::Key size = {
			"size", [&p, most](const YAML::Node &v) {
				p.size = traffic_size(YamlFile::word(v), most);
			}};
		const YamlFile::Key hosts = count("hosts", p.hosts, 2, 1 << 20);
		const YamlFile::Key start = time_ps("start", p.start);
		const YamlFile::Key qps = count("qps", p.qps, 1, 1 << 10);
		const YamlFile::Key repeat =
			count("repeat", p.repeat, 1, 1 << 20);
		const YamlFile::Key every = time_ps("every", p.every);

		p.pattern = pattern;
		p.line = YamlFile::line(node);
		if (pattern == "matrix" || pattern == "goal") {
			p.file = beside(s.file, YamlFile::word(node));
			s.parts.push_back(p);
			return;
		}
		if (pattern == "permutation")
			yaml.map(node, pattern,
				 {size, hosts, start, qps, repeat, every});
		else if (pattern == "allreduce")
			yaml.map(node, pattern, {size, hosts, start, qps});
		else if (pattern == "sendrecv")
			yaml.map(node, pattern,
				 {size, hosts, start, qps, repeat, every,
				  count("by", p.by, 1, 1 << 20)});
		else if (pattern == "incast")
			yaml.map(node, pattern,
				 {size, start, qps, repeat, every,
				  count("senders", p.senders, 1, 1 << 20)});
		else if (pattern == "alltoall")
			yaml.map(node, pattern,
				 {size, hosts, start, qps,
				  count("parallel", p.parallel, 1, 1 << 20)});
		else
			throw UsageError(fmt::format(
				"\"{}\" is none of permutation, sendrecv, "
				"incast, alltoall, allreduce, matrix, goal",
				pattern));
		if (!p.size)
			yaml.fail(node, "\"size\" is missing");
		if (p.repeat > 1 && !p.every)
			yaml.fail(node, "\"repeat\" needs \"every\"");
		s.random_traffic |= pattern == "permutation";
		s.parts.push_back(p);
	}

	void read_traffic(const YAML::Node &node)
	{
		const auto part = [this](const YAML::Node &one) {
			yaml.each(one, "traffic",
				  [this](const YAML::Node &k,
					 const YAML::Node &v) {
					  read_part(k.Scalar(), v);
				  });
		};

		has_traffic = true;
		if (node.IsSequence())
			yaml.list(node, "traffic", part);
		else
			part(node);
	}

	void read_faults(const YAML::Node &node)
	{
		yaml.each(node, "timeline",
			  [this](const YAML::Node &k, const YAML::Node &v) {
				  fault_nodes.emplace_back(
					  mrclab::parse_time(k.Scalar()) *
						  ps_per_ns,
					  v);
			  });
	}

	void apply_faults()
	{
		for (const auto &[at, node] : fault_nodes)
			for (const std::string &text :
			     yaml.words(node, "a moment")) {
				std::istringstream in(text);
				std::vector<std::string> w;

				for (std::string word; in >> word;)
					w.push_back(word);
				try {
					s.faults.push_back(
						parse_fault(s.shape, w, at));
				} catch (const UsageError &e) {
					yaml.fail(node, e.what());
				}
			}
	}

	void read()
	{
		const auto file = [this](std::string &to) {
			return [this, &to](const YAML::Node &v) {
				to = beside(s.file, YamlFile::word(v));
				fabric_line = YamlFile::line(v);
			};
		};
		const auto columns = [this](const YAML::Node &v) {
			s.columns.clear();
			for (const std::string &w : yaml.words(v, "columns"))
				s.columns.push_back(column_of(w));
		};
		const auto seeds = [this](const YAML::Node &v) {
			s.seeds.clear();
			for (const std::string &w : yaml.words(v, "seeds"))
				s.seeds.push_back(
					parse_count(w, 0, ~0ull >> 1));
		};

		yaml.map(yaml.root(), "a scenario",
			 {{"name",
			   [this](const YAML::Node &v) {
				   s.name = YamlFile::word(v);
			   }},
			  {"fabric", file(fabric)},
			  {"topo", file(topo)},
			  {"clos",
			   [this](const YAML::Node &v) { read_clos(v); }},
			  {"forwarding",
			   [this](const YAML::Node &v) {
				   forwarding = YamlFile::word(v);
				   if (forwarding != "srv6" &&
				       forwarding != "ecmp")
					   throw UsageError(fmt::format(
						   "\"{}\" is neither srv6 nor "
						   "ecmp",
						   forwarding));
			   }},
			  time_ps("node_delay", node_delay),
			  {"queues",
			   [this](const YAML::Node &v) { read_queues(v); }},
			  {"engine",
			   [this](const YAML::Node &v) { read_engine(v); }},
			  {"roce",
			   [this](const YAML::Node &v) { read_roce(v); }},
			  {"series",
			   [this](const YAML::Node &v) { read_series(v); }},
			  {"traffic",
			   [this](const YAML::Node &v) { read_traffic(v); }},
			  {"timeline",
			   [this](const YAML::Node &v) { read_faults(v); }},
			  {"columns", columns},
			  {"seeds", seeds},
			  time_ps("time", s.settings.end),
			  time_ps("sample", s.settings.sample)});
	}

	void finish()
	{
		const int n = !fabric.empty() + !topo.empty() + clos;

		if (n != 1)
			yaml.fail(yaml.root(),
				  fmt::format("a scenario has one of fabric, "
					      "topo and clos; here are {}",
					      n));
		if (!has_traffic)
			yaml.fail(yaml.root(), "\"traffic\" is missing");
		if (!fabric.empty())
			s.shape = shape_of(mrclab::read_fabric(fabric),
					   node_delay);
		if (!topo.empty())
			s.shape = read_topo(topo);
		if (!forwarding.empty())
			s.shape.srv6 = forwarding == "srv6";
		if (htsim && !frame)
			s.settings.extra = htsim_extra;
		try {
			/* Fabric files say what their queues are. */
			if (fabric.empty())
				fill_queues(s.shape, rules, s.settings);
			derive(s.shape, s.settings);
		} catch (const FileError &) {
			throw;
		} catch (const UsageError &e) {
			throw FileError(s.file, fabric_line, e.what());
		}
		apply_faults();
		apply_series();
	}
};
} // namespace

Scenario parse_scenario(std::string_view text, const std::string &file)
{
	const YamlFile yaml(text, file);
	Scenario s;

	s.file = file;
	s.text = text;
	s.name = std::filesystem::path(file).stem().string();
	ScenarioReader r(yaml, s);

	r.read();
	r.finish();
	return s;
}

Scenario read_scenario(const std::string &file)
{
	return parse_scenario(mrclab::read_text(file), file);
}
} // namespace mrcsim
