/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: hosts for measurements on one machine, as network namespaces with
 * veth pairs between them, one for each plane. Each column has its own hosts:
 * two RDMA drivers cannot share a UDP port, and columns must not affect each
 * other.
 */
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure.hpp"
#include "plans.hpp"

namespace mrcbench
{
/* Runs a program with @input; throws RunError with its output if it failed. */
void run_program(const std::vector<std::string> &words,
		 const std::string &input = "");

class Hosts
{
public:
	/* @number: 0 to 99, unique among hosts that exist at the same time. */
	Hosts(unsigned int number, const std::string &column,
	      unsigned int planes, uint32_t mtu);
	Hosts(const Hosts &) = delete;
	Hosts &operator=(const Hosts &) = delete;
	~Hosts();

	bool fits(const std::string &column, unsigned int planes,
		  uint32_t mtu) const
	{
		return column == column_ && planes == planes_ && mtu == mtu_;
	}
	Place client() const { return place(0); }
	Place server() const { return place(1); }
	/* Moves the calling thread into the host's namespace. */
	void enter(bool server) const;
	/* "" removes the present netem; @back applies to the server's side. */
	void impair(const std::string &netem, const std::string &back);

private:
	static constexpr const char *const addresses[2] = {"10.1.0.1",
							   "10.1.0.2"};

	Place place(int side) const;
	std::string space(int side) const;
	std::string device(int side) const;
	std::string netdev(int side, unsigned int plane) const;
	bool tcp() const { return column_.rfind("tcp", 0) == 0; }
	void build();
	void remove() noexcept;
	std::string side_commands(int side) const;
	void add_devices(int side) const;
	void wait_active(int side) const;
	void offloads(int side, bool on) const;

	unsigned int number_;
	std::string column_;
	unsigned int planes_;
	uint32_t mtu_;
	std::string impaired_[2];
	bool made_[2] = {};
};
} // namespace mrcbench
