// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* doctor: each finding about the host and its devices, provoked. */
#include "fake_planes.hpp"

namespace mrcctl
{
TEST_F(DoctorTest, FindsNothingWrong)
{
	const Json j = findings("--peer 10.1.0.2");

	EXPECT_EQ(status_, 0);
	EXPECT_EQ(j["errors"], 0u) << j.dump(2);
	EXPECT_EQ(j["warnings"], 0u) << j.dump(2);
	EXPECT_EQ(j["notes"], 0u) << j.dump(2);
	golden("doctor.txt", run("doctor --peer 10.1.0.2").out);
	golden("doctor.json", run("-p doctor mrc0 --peer 10.1.0.2").out);
}

TEST_F(DoctorTest, ChangesNothing)
{
	const auto before = host_.files;

	findings("--peer 10.1.0.2 fd00::2");
	EXPECT_TRUE(dev().log.empty());
	EXPECT_EQ(host_.files, before);
	for (const std::string &command : host_.ran)
		EXPECT_TRUE(command.starts_with("rdma -j link show") ||
			    command.starts_with("nft -j list ") ||
			    command.starts_with("modinfo -F ") ||
			    command.starts_with("ip -j neigh show ") ||
			    command.starts_with("ip -4 -j route get ") ||
			    command.starts_with("ip -6 -j route get "))
			<< command;
	EXPECT_FALSE(host_.ran.empty());
}

TEST_F(DoctorTest, ExplainsThatThereIsNoDevice)
{
	host_.files.clear();
	host_.programs.clear();
	const std::string said_module = said("error", "module");

	EXPECT_EQ(status_, 1);
	EXPECT_TRUE(has(said_module, "| modprobe mrc"));
	EXPECT_TRUE(has(said("error", "device"),
			"There is no mrc device. | modprobe mrc; rdma link add "
			"mrc0 type mrc netdev NETDEV"));
	EXPECT_TRUE(has(said("error", "provider"), "make install"));
	EXPECT_TRUE(has(said("note", "privilege"), "sudo mrcctl doctor"));
}

TEST_F(DoctorTest, ExplainsThatTheNamedDeviceIsMissing)
{
	EXPECT_TRUE(has(said("error", "device", "mrc7"),
			"no mrc device mrc7. | rdma link add mrc7 type mrc"));
	EXPECT_EQ(status_, 1);
	EXPECT_EQ(said("error", "device", "mrc0"), "");
	EXPECT_EQ(run("-d mrc0 doctor").status, 0);
}

TEST_F(DoctorTest, SaysWhatIsWrongWithItsWords)
{
	EXPECT_EQ(run("doctor mrc0 mrc1").status, 2);
	EXPECT_EQ(run("-d mrc0 doctor mrc1").status, 2);
	EXPECT_EQ(run("doctor ../x").status, 2);
	EXPECT_EQ(run("doctor --peer nowhere").status, 2);
	EXPECT_EQ(run("doctor --peer").status, 2);
	EXPECT_EQ(run("doctor --bogus").status, 2);
	EXPECT_EQ(run("port --bogus").status, 1);
	EXPECT_TRUE(has(run("doctor --peer nowhere").err,
			"usage: mrcctl doctor [DEVICE] [--peer ADDRESS...]"));
}

TEST_F(DoctorTest, MissesModules)
{
	host_.files.erase("/sys/class/infiniband_verbs/abi_version");
	host_.files.erase("/sys/class/infiniband_verbs/uverbs0/ibdev");
	host_.files["/sys/module/rdma_rxe/initstate"] = "live\n";
	EXPECT_TRUE(has(said("error", "module"), "| modprobe ib_uverbs"));
	EXPECT_TRUE(has(said("note", "module"), "rdma_rxe is loaded"));
}

TEST_F(DoctorTest, SaysWhatSecureBootNeeds)
{
	const std::string lockdown = "/sys/kernel/security/lockdown";
	const std::string modinfo = "modinfo -F signer mrc";
	const std::string only = "This kernel loads only modules signed with a "
				 "key that it knows (lockdown: integrity)";

	host_.files["/sys/module/mrc/taint"] = "O\n";
	for (const char *harmless : {"[none] integrity confidentiality\n",
				     "integrity\n", "]i[\n", ""}) {
		host_.files[lockdown] = harmless;
		EXPECT_EQ(said("ok", "signature"), "");
	}
	host_.files["/sys/module/mrc/taint"] = "OE\n";
	EXPECT_TRUE(has(said("ok", "signature"), "which this kernel allows"));
	host_.files["/sys/module/mrc/taint"] = "O\n";
	host_.files[lockdown] = "none [integrity] confidentiality\n";
	EXPECT_TRUE(has(said("ok", "signature"), only + ". mrc is one"));
	EXPECT_EQ(status_, 0);

	/* The module is not loaded. */
	std::erase_if(host_.files, [](const auto &file) {
		return file.first.starts_with("/sys/module/mrc/");
	});
	EXPECT_TRUE(has(said("error", "signature"),
			only + ", and there is no module mrc for it. | dkms "
			       "autoinstall"));
	EXPECT_EQ(status_, 1);
	host_.fails(modinfo, 1, "modinfo: ERROR: Module mrc not found.\n");
	EXPECT_TRUE(has(said("error", "signature"), "no module mrc for it"));
	host_.prints(modinfo, "");
	EXPECT_TRUE(has(said("error", "signature"),
			"has no signature. DKMS signs what it builds. | dkms "
			"build --force mrc/VERSION"));
	host_.prints(modinfo, "DKMS module signing key\n");
	EXPECT_TRUE(has(said("warning", "signature"),
			"The key of mrc is \"DKMS module signing key\"."));
	EXPECT_TRUE(has(said("warning", "signature"),
			"| mokutil --import /var/lib/dkms/mok.pub"));
	EXPECT_EQ(said("error", "signature"), "");

	/* Without a lockdown, by a parameter of the kernel. */
	host_.files.erase(lockdown);
	EXPECT_EQ(said("warning", "signature"), "");
	host_.files["/sys/module/module/parameters/sig_enforce"] = "Y\n";
	EXPECT_TRUE(has(said("warning", "signature"), "(module.sig_enforce)"));
}

TEST_F(DoctorTest, MissesTheProvider)
{
	host_.files.erase("/etc/libibverbs.d/mrc.driver");
	/* The device opens all the same: another directory is in use. */
	EXPECT_EQ(said("error", "provider"), "");
	dev().fail["open"] = ENODEV;
	EXPECT_TRUE(has(said("error", "provider"), "| make install"));
	EXPECT_TRUE(has(said("error", "open"), "No such device"));
	EXPECT_EQ(status_, 1);
	host_.files["/etc/libibverbs.d/x.driver"] = "driver /opt/lib/libmrc\n";
	EXPECT_EQ(said("error", "provider"), "");
	EXPECT_TRUE(
		has(said("error", "open"), "VERBS_LOG_LEVEL=1 ibv_devices"));
	host_.files.erase("/dev/infiniband/uverbs0");
	EXPECT_TRUE(has(said("error", "open"),
			"no file /dev/infiniband/uverbsN for it"));
}

TEST_F(DoctorTest, JudgesTheLimitOfLockedMemory)
{
	/* CAP_IPC_LOCK is among all capabilities. */
	EXPECT_TRUE(has(said("ok", "memlock"), "has CAP_IPC_LOCK"));
	host_.files["/proc/self/status"] = "CapEff:\t0000000000001000\n";
	EXPECT_TRUE(has(said("warning", "memlock"), "may lock 8192 KiB"));
	EXPECT_EQ(status_, 0);
	host_.files["/proc/self/limits"] =
		"Max locked memory         unlimited  unlimited  bytes\n";
	EXPECT_TRUE(has(said("ok", "memlock"), "unlimited"));
	host_.files["/proc/self/limits"] = "Max locked memory         x  y\n";
	EXPECT_EQ(said("ok", "memlock") + said("warning", "memlock"), "");
}

TEST_F(DoctorTest, WorksWithoutPrivileges)
{
	host_.files["/proc/self/status"] = "CapEff:\t0000000000000000\n";
	host_.fails("nft -j list ruleset", 1, "Operation not permitted");
	dev().fail["ev_state"] = EPERM;
	dev().fail["endpoint"] = EPERM;
	EXPECT_TRUE(has(said("note", "privilege"), "sudo mrcctl doctor"));
	EXPECT_TRUE(has(said("note", "firewall"), "CAP_NET_ADMIN is needed"));
	EXPECT_TRUE(has(said("note", "ev"), "CAP_NET_ADMIN is needed"));
	EXPECT_TRUE(has(said("note", "probe", "--peer 10.1.0.2"),
			"10.1.0.2 was not probed"));
	EXPECT_EQ(status_, 0);
	EXPECT_TRUE(has(said("ok", "port"), "1 (eth0) 2 (eth1)"));
}

TEST_F(DoctorTest, FindsANetdevThatIsDown)
{
	host_.files["/sys/class/net/eth1/flags"] = "0x1002\n";
	host_.errors["/sys/class/net/eth1/carrier"] = EINVAL;
	host_.files[std::string(sys) + "ports/2/state"] = "1: DOWN\n";
	EXPECT_TRUE(has(said("error", "port"), "2 eth1 is down."));
	EXPECT_TRUE(has(said("error", "port"), "| ip link set eth1 up\n"));
	/* Its routes and probes say nothing that is not said. */
	EXPECT_FALSE(has(said("error", "route", "--peer 10.1.0.2"), "2 "));
}

TEST_F(DoctorTest, FindsAPortWithoutCarrier)
{
	host_.files["/sys/class/net/eth0/carrier"] = "0\n";
	host_.files[std::string(sys) + "ports/1/state"] = "1: DOWN\n";
	EXPECT_TRUE(has(said("error", "port"), "1 eth0 has no carrier"));
	EXPECT_TRUE(has(said("error", "port"), "| ethtool eth0"));
}

TEST_F(DoctorTest, FindsPortsThatAreOtherwiseDown)
{
	host_.files[std::string(sys) + "ports/1/state"] = "1: DOWN\n";
	EXPECT_TRUE(has(said("error", "port"), "bridge or a bond"));
	dev().ports[0].enabled = false;
	EXPECT_TRUE(has(said("error", "port"),
			"| mrcctl -d mrc0 port set 1 enable"));
	links("[]");
	drop_gid(1, 0);
	drop_gid(1, 3);
	EXPECT_TRUE(has(said("error", "port"),
			"1 The port has no netdev in this network namespace"));
	EXPECT_TRUE(has(said("error", "port"),
			"| rdma link add mrc0 type mrc netdev NETDEV"));
}

TEST_F(DoctorTest, LeavesNetdevsOfOtherNamespacesAlone)
{
	links("[]");
	host_.files["/sys/class/net/eth0/mtu"] = "1500\n";
	EXPECT_TRUE(has(said("note", "namespace"),
			"ports 1 2 are in another network namespace"));
	EXPECT_EQ(status_, 0);
	EXPECT_EQ(said("warning", "mtu", "--peer 10.1.0.2"), "");
	EXPECT_EQ(dev().request, std::nullopt);
}

TEST_F(DoctorTest, FindsNetdevsWithoutTheProgramRdma)
{
	host_.programs.erase("rdma -j link show");
	EXPECT_TRUE(has(said("ok", "mtu"), "All planes have MTU 4500"));
	host_.fails("rdma -j link show", 1, "error");
	EXPECT_TRUE(has(said("ok", "mtu"), "All planes have MTU 4500"));
}

TEST_F(DoctorTest, ExplainsTheIndexOfGids)
{
	EXPECT_TRUE(has(said("ok", "gid"),
			"GID index for 10.1.0.1: 3 of port 1, 3 of port 2. "
			"Empty entries give ENODATA"));
	drop_gid(2, 3);
	add_gid(2, 1, "0000:0000:0000:0000:0000:ffff:0a01:0001", "eth1");
	EXPECT_TRUE(has(said("note", "gid"), "3 of port 1, 1 of port 2"));
	EXPECT_TRUE(has(said("note", "gid"), "| mrcctl show-gids mrc0"));
}

TEST_F(DoctorTest, FindsAPlaneWithoutAddress)
{
	drop_gid(2, 3);
	EXPECT_TRUE(has(said("error", "gid"),
			"2 The port has no GID but a link-local one: eth1 has "
			"no address."));
	EXPECT_TRUE(has(said("error", "gid"),
			"| ip addr add 10.1.0.1/32 dev eth1"));
	EXPECT_EQ(said("warning", "gid"), "");
	EXPECT_EQ(status_, 1);
	drop_gid(1, 3);
	EXPECT_TRUE(
		has(said("error", "gid"), "| ip addr add ADDRESS/32 dev eth1"));
}

TEST_F(DoctorTest, FindsAnAddressThatOnePlaneLacks)
{
	for (const uint32_t port : {1, 2})
		add_gid(port, 5, "fd00:0001:0000:0000:0000:0000:0000:0001",
			port == 1 ? "eth0" : "eth1");
	host_.files[std::string(sys) + "ports/3/state"] = "4: ACTIVE\n";
	add_gid(3, 3, "0000:0000:0000:0000:0000:ffff:0a01:0001", "eth2");
	EXPECT_EQ(said("warning", "gid"),
		  "3 eth2 lacks the address fd00:1::1 of the other planes. "
		  "Queue pairs may not use this plane with it. | ip addr add "
		  "fd00:1::1/128 dev eth2\n");
	/* The only one of its family. */
	drop_gid(2, 5);
	EXPECT_TRUE(has(said("warning", "gid"),
			"2 eth1 lacks the address fd00:1::1"));
	/* One that no two planes have. */
	drop_gid(1, 3);
	drop_gid(2, 3);
	drop_gid(3, 3);
	add_gid(2, 5, "fd00:0001:0000:0000:0000:0000:0000:0002", "eth1");
	EXPECT_TRUE(has(said("error", "gid"),
			"The planes have no address in common"));
}

TEST_F(DoctorTest, ComparesMtus)
{
	host_.files["/sys/class/net/eth1/mtu"] = "1500\n";
	EXPECT_EQ(said("error", "mtu"),
		  "2 The MTU 1500 of eth1 leaves 1024 bytes of payload, other "
		  "planes have 4096. Queue pairs with that path MTU do not use "
		  "this plane. | ip link set eth1 mtu 4500\n");
	EXPECT_EQ(status_, 1);
	host_.files["/sys/class/net/eth0/mtu"] = "1500\n";
	EXPECT_TRUE(has(said("warning", "mtu"), "1 The MTU 1500 of eth0"));
	EXPECT_TRUE(has(said("warning", "mtu"), "2 The MTU 1500 of eth1"));
	EXPECT_EQ(status_, 0);
	host_.files["/sys/class/net/eth0/mtu"] = "9000\n";
	host_.files["/sys/class/net/eth1/mtu"] = "4188\n";
	EXPECT_TRUE(has(said("note", "mtu"), "| ip link set eth1 mtu 9000"));
	host_.files["/sys/class/net/eth1/mtu"] = "4187\n";
	EXPECT_TRUE(has(said("error", "mtu"), "leaves 2048 bytes"));
}

TEST_F(DoctorTest, FindsSettingsThatBreakPlanes)
{
	host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] = "0\n";
	host_.files["/proc/sys/net/ipv4/conf/eth1/rp_filter"] = "1\n";
	EXPECT_TRUE(has(said("error", "rp_filter"), "strict (1) on eth1:"));
	EXPECT_TRUE(has(said("error", "rp_filter"),
			"| sysctl -w net.ipv4.conf.all.rp_filter=2"));
	/* The larger of both holds. */
	host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] = "2\n";
	EXPECT_EQ(said("error", "rp_filter"), "");
	host_.files["/proc/sys/net/ipv4/conf/all/arp_ignore"] = "0\n";
	EXPECT_TRUE(has(said("warning", "arp_ignore"), "0 on eth0 eth1"));
	host_.files["/proc/sys/net/ipv4/conf/eth0/arp_filter"] = "1\n";
	EXPECT_TRUE(has(said("error", "arp_filter"),
			"| sysctl -w net.ipv4.conf.all.arp_filter=0 "
			"net.ipv4.conf.eth0.arp_filter=0"));
}

TEST_F(DoctorTest, FindsAVrfWhosePacketsNobodyGets)
{
	const std::string accept = "/proc/sys/net/ipv4/udp_l3mdev_accept";

	host_.files["/sys/class/net/eth1/master/ifindex"] = "7\n";
	host_.prints("ip -j link show type vrf",
		     R"([{},{"ifindex":6,"ifname":"red"},)"
		     R"({"ifindex":7,"ifname":"blue"}])");
	EXPECT_EQ(said("error", "vrf"), "");
	host_.files[accept] = "0\n";
	EXPECT_EQ(said("error", "vrf"),
		  "2 eth1 is in the VRF blue, and the device's UDP socket gets "
		  "nothing that comes through a VRF. | sysctl -w "
		  "net.ipv4.udp_l3mdev_accept=1\n");
	EXPECT_EQ(status_, 1);
	host_.files[accept] = "1\n";
	EXPECT_EQ(said("error", "vrf"), "");
	/* Another master, or none that is a VRF. */
	host_.files[accept] = "0\n";
	host_.prints("ip -j link show type vrf",
		     R"([{"ifindex":6,"ifname":"red"}])");
	EXPECT_EQ(said("error", "vrf"), "");
	host_.prints("ip -j link show type vrf", "[");
	EXPECT_EQ(said("error", "vrf"), "");
}

TEST_F(DoctorTest, AsksNothingOfASinglePlane)
{
	host_.files["/proc/sys/net/ipv4/conf/eth0/rp_filter"] = "1\n";
	host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] = "1\n";
	host_.files["/proc/sys/net/ipv4/conf/all/arp_ignore"] = "0\n";
	for (auto it = host_.files.begin(); it != host_.files.end();)
		it = it->first.find("/ports/2/") != std::string::npos
			     ? host_.files.erase(it)
			     : std::next(it);
	EXPECT_EQ(said("error", "rp_filter"), "");
	EXPECT_EQ(said("warning", "arp_ignore"), "");
	EXPECT_EQ(status_, 0);
}

TEST_F(DoctorTest, SaysThatTheExtensionIsOff)
{
	EXPECT_TRUE(has(said("ok", "extension"), "is on"));
	dev().device.extension = false;
	EXPECT_TRUE(has(said("note", "extension"),
			"| mrcctl -d mrc0 dev set extension on"));
	dev().device.extension.reset();
	EXPECT_EQ(said("ok", "extension") + said("note", "extension"), "");
}

TEST_F(DoctorTest, JudgesEvs)
{
	add_profiles();
	/* Profile 3: port 1 is good, port 2 has one bad and one denied EV. */
	EXPECT_TRUE(
		has(said("warning", "ev"),
		    "2 All 2 EVs of EV profile 3 are assumed bad or denied: "
		    "the plane is cut on the way. | mrcctl doctor mrc0 "
		    "--peer PEER"));
	dev().evs.at(3).evs[1].state = EvState::denied;
	EXPECT_TRUE(has(said("warning", "ev"),
			"2 All 2 EVs of EV profile 3 are denied"));
	dev().evs.clear();
	add_qps();
	/* Of queue pair 17, port 2 has one bad and one denied EV. */
	EXPECT_TRUE(has(said("warning", "ev"), "2 All 2 EVs of queue pairs"));
	dev().qps[0].evs[1].state = 3;
	EXPECT_TRUE(has(said("note", "ev"),
			"1 1 of 2 EVs of queue pairs are assumed bad"));
	dev().qps[1].name.state = "ERR";
	EXPECT_TRUE(has(said("note", "ev"), "1 of 2 queue pairs are in ERROR"));
}
} // namespace mrcctl
