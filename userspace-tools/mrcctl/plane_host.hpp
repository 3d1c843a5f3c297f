/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl plane: reads netdevs, runs the changes and keeps what they were. */
#pragma once

#include <iosfwd>

#include "host.hpp"
#include "plane.hpp"

namespace mrcctl::plane
{
/* Throws DeviceError if ip(8) cannot be asked. */
Present read_present(Host &host, const std::string &netdev);

/*
 * The changes of the planes of this network namespace. Others wait while an
 * object of this class lives.
 */
class Registry
{
public:
	explicit Registry(Host &host);

	Planes planes;

	/* Throws DeviceError. */
	void save();

private:
	Host &host_;
	std::string path_;
	std::shared_ptr<void> lock_;
};

/*
 * Runs the steps, each recorded before the next. If one fails, those before it
 * are taken back, also in the records, and DeviceError is thrown.
 */
void make(Host &host, Registry &registry, const std::string &netdev,
	  const Steps &steps);

/*
 * Takes back what is still there; says in @err what is not, or fails. Returns
 * whether all is as it was.
 */
bool undo(Host &host, const Steps &steps, std::ostream &err);
} // namespace mrcctl::plane
