// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* serve with sockets of the loopback. */
#include <array>
#include <cerrno>
#include <csignal>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../userspace-tools/common/fd.hpp"
#include "fake_planes.hpp"
#include "http_server.hpp"

namespace mrcctl
{
namespace
{
sockaddr_in loopback(uint16_t port)
{
	sockaddr_in a{};

	a.sin_family = AF_INET;
	a.sin_port = htons(port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

/* All that comes until the server closes. */
std::string ask(uint16_t port, const std::string &text)
{
	const fd::Fd s(socket(AF_INET, SOCK_STREAM, 0));
	const sockaddr_in to = loopback(port);
	std::array<char, 4096> part{};
	std::string out;
	ssize_t n = 0;

	if (connect(s.get(), reinterpret_cast<const sockaddr *>(&to),
		    sizeof(to)))
		return "";
	if (send(s.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
		return "";
	while ((n = recv(s.get(), part.data(), part.size(), 0)) > 0)
		out.append(part.data(), static_cast<std::size_t>(n));
	return out;
}

std::string request(const std::string &method, const std::string &path)
{
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

WebResponse hello(const WebRequest &r)
{
	if (r.method != "GET" && r.method != "HEAD")
		return {.status = 405, .type = "text/plain", .body = "no\n"};
	return {.status = 200,
		.type = "text/plain",
		.body = r.target + " of " + r.host + "\n"};
}

/* A server in a process of its own, which ends with status 0 if it ends well.
 */
class Child
{
public:
	explicit Child(uint64_t timeout_ns = 0)
	{
		std::array<int, 2> pipe_fds{};

		if (pipe(pipe_fds.data()))
			return;
		pid_ = fork();
		if (!pid_) {
			HttpServer s;
			const uint16_t port = s.listen("127.0.0.1", 0);

			if (write(pipe_fds[1], &port, sizeof(port)) < 0)
				_exit(3);
			close(pipe_fds[1]);
			s.run(hello, timeout_ns);
			_exit(0);
		}
		close(pipe_fds[1]);
		if (read(pipe_fds[0], &port_, sizeof(port_)) < 0)
			port_ = 0;
		close(pipe_fds[0]);
	}
	~Child()
	{
		if (pid_ > 0) {
			kill(pid_, SIGKILL);
			waitpid(pid_, nullptr, 0);
		}
	}
	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;

	uint16_t port() const { return port_; }
	void signal(int n) const { kill(pid_, n); }
	int status()
	{
		int s = -1;

		waitpid(pid_, &s, 0);
		pid_ = -1;
		return s;
	}

private:
	pid_t pid_ = -1;
	uint16_t port_ = 0;
};
} // namespace

TEST(HttpServer, AnswersWithTheLinesThatAllAnswersHave)
{
	Child child;
	const std::string r = ask(child.port(), request("GET", "/a?b=%20c"));

	EXPECT_TRUE(r.starts_with("HTTP/1.1 200 OK\r\n")) << r;
	for (const char *line :
	     {"Content-Security-Policy: default-src 'none'; script-src 'self'",
	      "X-Content-Type-Options: nosniff\r\n",
	      "Cache-Control: no-store\r\n", "Content-Type: text/plain\r\n",
	      "Connection: close\r\n", "Content-Length: 23\r\n",
	      "\r\n\r\n/a?b=%20c of localhost\n"})
		EXPECT_TRUE(has(r, line)) << r;
	const std::string head =
		ask(child.port(), request("HEAD", "/a?b=%20c"));

	EXPECT_TRUE(has(head, "Content-Length: 23\r\n")) << head;
	EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST(HttpServer, RefusesWhatIsNoSimpleRequest)
{
	Child child;
	const uint16_t port = child.port();

	for (const char *method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
		const std::string r = ask(port, request(method, "/"));

		EXPECT_TRUE(r.starts_with("HTTP/1.1 405 ")) << r;
		EXPECT_TRUE(has(r, "Allow: GET, HEAD\r\n")) << r;
	}
	std::string r = ask(port, "POST / HTTP/1.1\r\nHost: localhost\r\n"
				  "Content-Length: 1000000000\r\n\r\n");

	EXPECT_TRUE(r.starts_with("HTTP/1.1 405 ")) << r;
	for (const char *bad : {"nonsense\r\n\r\n", "BREW / HTTP/1.1\r\n\r\n",
				"GET / HTTP/9.9\r\n\r\n"}) {
		r = ask(port, bad);
		EXPECT_TRUE(r.starts_with("HTTP/1.1 4")) << bad << r;
		EXPECT_TRUE(has(r, "X-Content-Type-Options: nosniff")) << r;
	}
	r = ask(port,
		"GET /" + std::string(1 << 20, 'x') + " HTTP/1.1\r\n\r\n");
	EXPECT_FALSE(r.starts_with("HTTP/1.1 200")) << r;
	EXPECT_TRUE(has(ask(port, request("GET", "/still")), "/still of"));
}

/* Clients that say nothing occupy all threads for a short time only. */
TEST(HttpServer, GivesUpOnSilentClients)
{
	Child child;
	const sockaddr_in to = loopback(child.port());
	std::vector<fd::Fd> silent;

	for (int i = 0; i < 12; i++) {
		silent.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
		ASSERT_EQ(connect(silent.back().get(),
				  reinterpret_cast<const sockaddr *>(&to),
				  sizeof(to)),
			  0);
	}
	EXPECT_TRUE(has(ask(child.port(), request("GET", "/x")), "/x of"));
}

TEST(HttpServer, EndsWellWhenItIsTold)
{
	for (const int n : {SIGINT, SIGTERM}) {
		Child child;

		EXPECT_TRUE(has(ask(child.port(), request("GET", "/")), "200"));
		child.signal(n);
		EXPECT_EQ(child.status(), 0);
	}
	/* Before the first request, too, and at the end of its time. */
	Child at_once, in_time(one_second / 10);

	at_once.signal(SIGTERM);
	EXPECT_EQ(at_once.status(), 0);
	EXPECT_EQ(in_time.status(), 0);
}

class SocketTest : public MrcctlTest
{
protected:
	Result serve(const std::vector<std::string> &words)
	{
		std::vector<std::string> args = {"serve"};
		std::istringstream in;
		std::ostringstream out, err;
		HttpServer web;
		Env e = env(in, out, err, &web);

		args.insert(args.end(), words.begin(), words.end());
		const int status = mrcctl::run(args, e);

		return {status, out.str(), err.str()};
	}
};

TEST_F(SocketTest, SaysThatThePortIsInUse)
{
	Child other;
	const std::string port = std::to_string(other.port());
	Result r = serve({"listen", ":" + port, "-t", "100ms"});

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err,
		  "mrcctl: port " + port +
			  " of 127.0.0.1 is in use by another program\n");
	/* And not later, when the other one has ended. */
	other.signal(SIGTERM);
	EXPECT_EQ(other.status(), 0);
	r = serve({"listen", ":" + port, "-t", "10ms"});
	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_EQ(r.out, "http://127.0.0.1:" + port + "/\n");
}

TEST_F(SocketTest, SaysThatTheAddressIsOfAnotherHost)
{
	const Result r = serve({"listen", "192.0.2.77", "-t", "100ms"});

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err, "mrcctl: 192.0.2.77 is no address of this host\n");
}

TEST_F(SocketTest, EndsInTime)
{
	const Result r = serve({"listen", "127.0.0.1:0", "-t", "50ms"});

	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_TRUE(r.out.starts_with("http://127.0.0.1:")) << r.out;
	EXPECT_EQ(r.err, "");
	/* The signals are what they were. */
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, nullptr, &now);
	EXPECT_FALSE(sigismember(&now, SIGTERM));
}
} // namespace mrcctl
