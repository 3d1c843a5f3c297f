// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* serve without sockets: what is answered to which request. */
#include <cerrno>

#include "endpoint.hpp"
#include "fake_planes.hpp"
#include "site.hpp"
#include "web_files.hpp"

namespace mrcctl
{
namespace
{
using Answer = std::function<WebResponse(const WebRequest &)>;

class ServeTest : public MrcctlTest
{
protected:
	ServeTest()
	{
		host_.files["/proc/sys/kernel/hostname"] = "node7\n";
		add_profiles();
		add_qps();
	}

	/* Runs the command and asks what @visit asks. */
	Result serve(const std::string &words,
		     const std::function<void()> &visit)
	{
		web_.visit = [&](const Answer &a) {
			answer_ = a;
			visit();
			answer_ = nullptr;
		};
		Result r = run("serve " + words);

		web_.visit = nullptr;
		return r;
	}

	WebResponse get(const std::string &target,
			const std::string &host = "localhost:4680",
			const std::string &method = "GET")
	{
		return answer_(
			{.method = method, .target = target, .host = host});
	}

	Json json(const std::string &target)
	{
		const WebResponse r = get(target);

		EXPECT_EQ(r.status, 200) << r.body;
		EXPECT_EQ(r.type, "application/json");
		return Json::parse(r.body);
	}

	/* The first device. */
	Json device() { return json("/api/state")["devices"][0]; }

	std::string health_error(const std::string &text)
	{
		std::string error;

		host_.files["/run/map.json"] = text;
		EXPECT_EQ(serve("health /run/map.json",
				[&] {
					const Json j = json("/api/health");

					EXPECT_EQ(j["file"], "/run/map.json");
					EXPECT_TRUE(j["health"].is_null());
					error = j["error"];
				}).status,
			  0);
		return error;
	}

	Answer answer_;
};

constexpr const char *small_map =
	R"({"fabric": "small", "time": 5, "links": [], "findings": []})";
} // namespace

TEST_F(ServeTest, SaysWhereThePageIs)
{
	Result r = serve("", [] {});

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "http://127.0.0.1:4680/\n");
	EXPECT_EQ(r.err, "");
	EXPECT_EQ(web_.address, "127.0.0.1");
	EXPECT_EQ(web_.timeout_ns, 0u);
	r = serve("listen [::1]:0 -t 3s", [] {});
	EXPECT_EQ(r.out, "http://[::1]:40000/\n");
	EXPECT_EQ(r.err, "");
	EXPECT_EQ(web_.timeout_ns, 3 * one_second);
	EXPECT_EQ(run("-j serve listen :81").out,
		  "{\"url\":\"http://127.0.0.1:81/\"}\n");
}

TEST_F(ServeTest, WarnsOfOtherAddressesThanTheLoopback)
{
	const Result r = serve("listen 192.0.2.1", [] {});

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "http://192.0.2.1:4680/\n");
	EXPECT_EQ(r.err, "mrcctl: warning: everybody who reaches "
			 "192.0.2.1:4680 can read this; there is no "
			 "password\n");
	EXPECT_TRUE(has(run("serve listen 0.0.0.0").err, "warning"));
	EXPECT_TRUE(has(run("serve listen ::").err, "warning"));
	EXPECT_EQ(run("serve listen 127.8.9.10").err, "");
}

TEST_F(ServeTest, RefusesWrongWords)
{
	const std::string usage =
		"\nusage: mrcctl serve [listen ADDRESS[:PORT]] [health FILE]\n";
	const auto says = [&](const std::string &words,
			      const std::string &what) {
		const Result r = run("serve " + words);

		EXPECT_EQ(r.status, exit_usage) << words;
		EXPECT_EQ(r.out, "");
		EXPECT_EQ(r.err, "mrcctl: " + what + usage);
	};

	says("now", "\"now\" is not listen or health");
	says("listen", "ADDRESS is missing");
	says("health", "FILE is missing");
	says("listen host", "\"host\" is no address");
	says("listen 127.0.0.1:70000", "70000 is more than 65535");
	says("listen 127.0.0.1:", "\"\" is no number");
	says("listen [::1", "\"[::1\" is not ADDRESS, ADDRESS:PORT or :PORT");
	says("listen []:1", "\"[]:1\" is not ADDRESS, ADDRESS:PORT or :PORT");
	says("listen [::1]1", "\"[::1]1\" is not ADDRESS, ADDRESS:PORT or "
			      ":PORT");
	says("listen [127.0.0.1]:1",
	     "\"[127.0.0.1]:1\" has brackets, but no IPv6 address");
	says("-i 1ms", "the interval is at least 10ms");
	EXPECT_EQ(run("serve -n 3").status, exit_usage);
	const Result r = run("-d mrc7 serve");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: no MRC device mrc7\n");
}

/* mrcctl has no server itself. */
TEST_F(ServeTest, RunsTheProgramThatHasTheServer)
{
	const auto becomes = [&](const std::vector<std::string> &args,
				 const std::string &words) {
		std::istringstream in(
			"# a line of a batch\nserve -t 5s health h\n");
		std::ostringstream out, err;
		Env e = env(in, out, err, nullptr);

		host_.ran.clear();
		EXPECT_EQ(mrcctl::run(args, e), exit_device);
		EXPECT_EQ(host_.ran, std::vector<std::string>{
					     "/libexec/mrcctl-serve " + words});
		EXPECT_EQ(out.str(), "");
		return err.str();
	};

	EXPECT_EQ(becomes({"serve"},
			  "serve -i 1000000000ns listen 127.0.0.1:4680"),
		  "mrcctl: /libexec/mrcctl-serve: No such file or directory\n");
	becomes({"-j", "-d", "mrc0", "serve", "-i", "20ms", "-t", "3", "listen",
		 "[::1]:0", "health", "a b"},
		"-j -d mrc0 serve -i 20000000ns -t 3000000000ns listen [::1]:0 "
		"health a b");
	becomes({"-p", "serve", "listen", ":81", "health", "x"},
		"-p serve -i 1000000000ns listen 127.0.0.1:81 health x");
	/* Only the command itself, not the lines before it. */
	EXPECT_EQ(becomes({"-b", "-"},
			  "serve -i 1000000000ns -t 5000000000ns listen "
			  "127.0.0.1:4680 health h"),
		  "mrcctl: -:2: /libexec/mrcctl-serve: No such file or "
		  "directory\n");
}

/* What is wrong is said before. */
TEST_F(ServeTest, RunsNoOtherProgramForWrongWords)
{
	std::istringstream in;
	std::ostringstream out, err;
	Env e = env(in, out, err, nullptr);

	EXPECT_EQ(mrcctl::run({"serve", "now"}, e), exit_usage);
	EXPECT_EQ(mrcctl::run({"-d", "mrc7", "serve"}, e), exit_device);
	EXPECT_TRUE(host_.ran.empty());
}

TEST_F(ServeTest, SaysWhyItCannotListen)
{
	web_.err = EADDRINUSE;
	const Result r = run("serve");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err, "mrcctl: 127.0.0.1: Address already in use\n");
}

TEST_F(ServeTest, HasTheFilesOfThePage)
{
	serve("", [&] {
		const WebResponse page = get("/");

		EXPECT_EQ(page.status, 200);
		EXPECT_EQ(page.type, "text/html; charset=utf-8");
		EXPECT_TRUE(has(page.body, "src=\"/app.js\""));
		EXPECT_TRUE(has(page.body, "href=\"/app.css\""));
		EXPECT_EQ(get("/?x=1").body, page.body);
		EXPECT_EQ(get("/app.css").type, "text/css; charset=utf-8");
		for (const WebFile &f : web_files()) {
			const WebResponse r = get(std::string(f.path));

			EXPECT_EQ(r.status, 200) << f.path;
			EXPECT_EQ(r.body, f.text);
			EXPECT_TRUE(has(r.body, "SPDX-License-Identifier"));
			/* No other host, and nothing that the policy stops. */
			EXPECT_FALSE(has(r.body, "https://")) << f.path;
			EXPECT_FALSE(has(r.body, "innerHTML")) << f.path;
			EXPECT_FALSE(has(r.body, " style=")) << f.path;
		}
	});
}

TEST_F(ServeTest, ForbidsScriptsOfOthers)
{
	std::map<std::string, std::string> all;

	for (const auto &[name, value] : headers_of_all_answers())
		all.emplace(name, value);
	EXPECT_TRUE(has(all["Content-Security-Policy"],
			"default-src 'none'; script-src 'self'; style-src "
			"'self'; connect-src 'self'; img-src 'self' data:"));
	EXPECT_EQ(all["X-Content-Type-Options"], "nosniff");
	EXPECT_EQ(all["Cache-Control"], "no-store");
	EXPECT_FALSE(all.contains("Access-Control-Allow-Origin"));
}

TEST_F(ServeTest, RefusesOtherMethodsAndPaths)
{
	serve("", [&] {
		for (const char *m : {"POST", "PUT", "DELETE", "OPTIONS",
				      "TRACE", "CONNECT", "get", ""})
			EXPECT_EQ(get("/", "localhost", m).status, 405) << m;
		EXPECT_EQ(get("/api/state", "localhost", "HEAD").status, 200);
		for (const char *path :
		     {"", "/..", "/../etc/passwd", "/%2e%2e/etc/passwd",
		      "//etc/passwd", "/web/app.js", "/app.js/", "/%61pp.js",
		      "/api", "/api/", "http://localhost/", "*",
		      "/api/state/../health", "/index.html", "/proc/self/mem"})
			EXPECT_EQ(get(path).status, 404) << path;
		EXPECT_EQ(get(std::string(1 << 16, 'x')).status, 404);
		EXPECT_EQ(get(std::string("/\0app.js", 8)).status, 404);
	});
}

/* A page whose name leads to 127.0.0.1 has that name in the line. */
TEST_F(ServeTest, AnswersToNamesOfTheLoopbackOnly)
{
	const std::vector<std::string> ours = {
		"localhost", "localhost:4680", "LOCALHOST:1",
		"127.0.0.1", "127.0.0.1:4680", "127.3.4.5:80",
		"[::1]",     "[::1]:4680"};
	const std::vector<std::string> others = {"",
						 "evil.example",
						 "evil.example:4680",
						 "localhost.evil.example",
						 "127.0.0.1.evil.example",
						 "192.0.2.1",
						 "[::2]",
						 "[::1",
						 "::1",
						 "[127.0.0.1]",
						 "127.0.0.1@evil.example",
						 "localhost evil.example",
						 "[::1]x"};

	serve("", [&] {
		for (const std::string &h : ours)
			EXPECT_EQ(get("/", h).status, 200) << h;
		for (const std::string &h : others) {
			EXPECT_EQ(get("/api/state", h).status, 403) << h;
			EXPECT_FALSE(has(get("/", h).body, "html"));
		}
	});
	/* Others are served there. */
	serve("listen 192.0.2.1",
	      [&] { EXPECT_EQ(get("/", "node7.example").status, 200); });
}

TEST_F(ServeTest, ShowsTheState)
{
	serve("", [&] {
		get("/api/state");
		clock_.ns += one_second;
		dev().ports[0].counters[1].value += 2500000;
		dev().qps[0].ports[1].tx_bytes += 1000000;
		dev().qps[0].tx_pkts += 1234;
		golden("state.json", json("/api/state").dump(4) + "\n");
		golden("state_qp.json",
		       json("/api/qp?device=mrc0&qpn=17").dump(4) + "\n");
	});
}

TEST_F(ServeTest, HasRatesFromTheSecondSampleOn)
{
	serve("-i 2s", [&] {
		EXPECT_TRUE(device()["ports"][0]["rates"].is_null());
		EXPECT_TRUE(device()["rates_over_s"].is_null());
		clock_.ns += 4 * one_second;
		dev().ports[0].counters[1].value += 8000;
		EXPECT_EQ(device()["ports"][0]["rates"]["tx_bytes_per_s"],
			  2000);
		EXPECT_EQ(device()["rates_over_s"], 4);
		/* Nobody has asked for long. */
		clock_.ns += 11 * one_second;
		EXPECT_TRUE(device()["ports"][0]["rates"].is_null());
		EXPECT_TRUE(device()["qps"][0]["rates"].is_null());
	});
}

TEST_F(ServeTest, SamplesOnceInAnInterval)
{
	serve("-i 1s", [&] {
		EXPECT_EQ(json("/api/state")["sample"], 1);
		dev().ports[0].state = "DOWN";
		for (int i = 0; i < 100; i++) {
			get("/metrics");
			get("/api/qp?device=mrc0&qpn=17");
			EXPECT_EQ(json("/api/state")["sample"], 1);
		}
		clock_.ns += one_second - 1;
		EXPECT_EQ(device()["ports"][0]["state"], "ACTIVE");
		EXPECT_EQ(json("/api/state")["next_in_s"], 1e-9);
		clock_.ns += 1;
		EXPECT_EQ(device()["ports"][0]["state"], "DOWN");
		EXPECT_EQ(json("/api/state")["next_in_s"], 1);
		/* Nobody asks, nothing is read. */
		clock_.ns += 3600 * one_second;
		EXPECT_EQ(json("/api/state")["sample"], 3);
	});
}

TEST_F(ServeTest, KeepsHostileNamesAsText)
{
	const std::string name = "<img src=x onerror=alert(1)>\"'&\n";

	dev().qps[0].name.program = name;
	dev().qps[1].name.program = "\xff\xfe\x80 bytes";
	serve("", [&] {
		const WebResponse r = get("/api/state");
		const Json qps = Json::parse(r.body)["devices"][0]["qps"];

		EXPECT_EQ(r.type, "application/json");
		EXPECT_EQ(qps[0]["program"], name);
		EXPECT_EQ(qps[1]["program"], "\ufffd\ufffd\ufffd bytes");
	});
}

TEST_F(ServeTest, ShowsWhatCanBeReadWithoutRights)
{
	dev().fail["qp"] = EPERM;
	dev().fail["ev_state"] = EPERM;
	dev().ports[0].enabled.reset();
	serve("", [&] {
		const Json d = device();

		EXPECT_EQ(d["missing"].size(), 2u);
		EXPECT_EQ(d["missing"][0]["part"], "qps");
		EXPECT_EQ(d["missing"][0]["error"],
			  "qp: Operation not permitted (CAP_NET_ADMIN is "
			  "needed)");
		EXPECT_EQ(d["missing"][1]["part"], "ev_profiles");
		EXPECT_TRUE(d["ev_profiles"].is_null());
		EXPECT_TRUE(d["ports"][0]["admin"].is_null());
		EXPECT_EQ(d["qps_all"], 2);
		EXPECT_EQ(d["qps"][0]["program"], "ib_write_bw");
		EXPECT_FALSE(d["qps"][0].contains("cwnd"));
		EXPECT_EQ(get("/api/qp?device=mrc0&qpn=17").status, 404);
	});
}

TEST_F(ServeTest, SurvivesDevicesThatGo)
{
	serve("", [&] {
		EXPECT_EQ(device()["name"], "mrc0");
		clock_.ns += one_second;
		dev().fail["open"] = ENODEV;
		EXPECT_EQ(device()["missing"][0]["part"], "all");
		EXPECT_TRUE(device()["ports"].is_null());
		clock_.ns += one_second;
		dev().fail.clear();
		dev().fail["counters"] = EIO;
		EXPECT_TRUE(device()["ports"].is_null());
		EXPECT_EQ(device()["qps"].size(), 2u);
		clock_.ns += one_second;
		system_.all.clear();
		EXPECT_EQ(json("/api/state")["devices"], Json::array());
		EXPECT_EQ(get("/metrics").status, 200);
		EXPECT_EQ(get("/api/qp?device=mrc0&qpn=17").status, 404);
	});
	/* There need not be one at first. */
	EXPECT_EQ(serve("", [&] { get("/api/state"); }).status, 0);
}

TEST_F(ServeTest, ShowsOneDeviceIfItIsNamed)
{
	system_.all["mrc1"] = system_.all["mrc0"];
	serve("", [&] { EXPECT_EQ(json("/api/state")["devices"].size(), 2u); });
	serve("-d mrc1", [&] {
		const Json all = json("/api/state")["devices"];

		ASSERT_EQ(all.size(), 1u);
		EXPECT_EQ(all[0]["name"], "mrc1");
		EXPECT_FALSE(has(get("/metrics").body, "mrc0"));
	});
}

TEST_F(ServeTest, LeavesOutIdleQueuePairsOfMany)
{
	Qp q = dev().qps[0];

	dev().qps.clear();
	for (uint32_t i = 0; i < 700; i++) {
		q.name.qpn = 100 + i;
		dev().qps.push_back(q);
	}
	serve("", [&] {
		get("/api/state");
		clock_.ns += one_second;
		dev().qps[650].tx_pkts += 5;
		const Json d = device();

		EXPECT_EQ(d["qps"].size(), 500u);
		EXPECT_EQ(d["qps_all"], 700);
		EXPECT_EQ(d["qps"][0]["qpn"], 750);
		/* Those that are left out can be asked for. */
		EXPECT_EQ(json("/api/qp?device=mrc0&qpn=799")["evs"].size(),
			  4u);
	});
}

TEST_F(ServeTest, ReadsQueriesThatAreWrong)
{
	system_.all["a&b%"] = system_.all["mrc0"];
	serve("", [&] {
		EXPECT_EQ(json("/api/qp?x&qpn=0x11&device=a%26b%25")["qpn"],
			  17);
		for (const char *q :
		     {"", "?", "?qpn=", "?qpn=x&device=mrc0", "?qpn=-1",
		      "?qpn=%", "?qpn=%4", "?qpn=%zz", "?QPN=17",
		      "?qpn=99999999999999999999"})
			EXPECT_EQ(get(std::string("/api/qp") + q).status, 400)
				<< q;
		for (const char *q :
		     {"?qpn=17", "?qpn=17&device=", "?qpn=17&device=%00mrc0",
		      "?qpn=99&device=mrc0", "?qpn=17&&&device=mrc1&="})
			EXPECT_EQ(get(std::string("/api/qp") + q).status, 404)
				<< q;
	});
}

TEST_F(ServeTest, HasTheMetricsOfTheSample)
{
	const std::string text = run("metrics").out;

	serve("", [&] {
		const WebResponse r = get("/metrics");

		EXPECT_EQ(r.type, "text/plain; version=0.0.4; charset=utf-8");
		EXPECT_EQ(r.body, text);
	});
}

TEST_F(ServeTest, ShowsTheHealthThatMrcmapWrites)
{
	serve("", [&] {
		EXPECT_EQ(json("/api/health"),
			  Json::parse(R"({"file": null, "error": null,
				"health": null})"));
	});
	host_.files["/run/map.json"] = small_map;
	serve("health /run/map.json", [&] {
		EXPECT_EQ(json("/api/health")["health"]["fabric"], "small");
		/* It is read anew, but not for each request. */
		host_.files["/run/map.json"] =
			R"({"fabric": "new", "links": [], "findings": []})";
		EXPECT_EQ(json("/api/health")["health"]["fabric"], "small");
		clock_.ns += one_second;
		EXPECT_EQ(json("/api/health")["health"]["fabric"], "new");
		clock_.ns += one_second;
		host_.files.clear();
		EXPECT_EQ(json("/api/health")["error"],
			  "/run/map.json: No such file or directory");
		clock_.ns += one_second;
		host_.files["/run/map.json"] = small_map;
		EXPECT_TRUE(json("/api/health")["error"].is_null());
	});
}

TEST_F(ServeTest, SaysWhatIsWrongWithTheHealth)
{
	const std::string at = "/run/map.json: ";

	EXPECT_EQ(health_error(""), at + "this is no JSON");
	EXPECT_EQ(health_error("{\"fabric\": "), at + "this is no JSON");
	EXPECT_EQ(health_error("\xff\xfe"), at + "this is no JSON");
	EXPECT_EQ(health_error(std::string(1 << 20, '[')),
		  at + "the JSON is nested too deeply");
	for (const char *other :
	     {"[]", "1", "null", "{}", R"({"fabric": 1, "links": []})",
	      R"({"fabric": "x", "links": {}, "findings": []})",
	      R"({"fabric": "x", "links": [], "findings": 7})"})
		EXPECT_EQ(health_error(other),
			  at + "this is not the state of mrcmap's collector");
	EXPECT_EQ(health_error(std::string(Host::max_file, ' ')),
		  at + "the file has 4 MiB or more");
	host_.errors["/run/map.json"] = EACCES;
	EXPECT_EQ(health_error(small_map), at + "Permission denied");
}

TEST(Serve, KnowsEndpoints)
{
	EXPECT_EQ(show_endpoint(parse_endpoint("LocalHost:1")), "127.0.0.1:1");
	EXPECT_EQ(show_endpoint(parse_endpoint("::1")), "[::1]:4680");
	EXPECT_EQ(show_endpoint(parse_endpoint("[fd00::1]:65535")),
		  "[fd00::1]:65535");
	EXPECT_EQ(show_endpoint(parse_endpoint("::ffff:10.0.0.1")),
		  "10.0.0.1:4680");
}
} // namespace mrcctl
