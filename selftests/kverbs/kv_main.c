// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: loading it with the names of two devices (or of one, twice) runs
 * all tests; what came of them is in the parameter "result", as lines of TAP.
 * It holds nothing afterwards.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/string.h>

#include "kv.h"

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "device that begins");

static char *peer;
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "the other device");

static bool misuse = true;
module_param(misuse, bool, 0444);
MODULE_PARM_DESC(misuse, "also what must be refused; needs a network without loss");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "word that the names of tests must have");

static char kv_result[4000];
static size_t kv_len;
static struct ib_device *kv_dev, *kv_peer;
static DECLARE_COMPLETION(kv_over);	/* all tests have run */

static int kv_result_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", kv_result);
}

static const struct kernel_param_ops kv_result_ops = { .get = kv_result_get };
module_param_cb(result, &kv_result_ops, NULL, 0444);
MODULE_PARM_DESC(result, "TAP lines");

static __printf(1, 2) void kv_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	kv_len += vscnprintf(kv_result + kv_len, sizeof(kv_result) - kv_len,
			     fmt, args);
	va_end(args);
}

int kv_failed(const char *file, int line, const char *what, long long got)
{
	kv_say("# %s:%d: %s: %lld\n", kbasename(file), line, what, got);
	return -1;
}

static int kv_run(const struct kv_test *test, int n)
{
	for (; test->name; test++) {
		struct kv_pair p;
		int ret;

		if (!strstr(test->name, only))
			continue;
		ret = kv_pair_open(&p, kv_dev, kv_peer) ?: test->run(&p);
		kv_pair_close(&p);
		kv_say("%sok %d - %s\n", ret ? "not " : "", ++n, test->name);
	}
	return n;
}

/* Only devices that serve consumers in the kernel come here. */
static int kv_add(struct ib_device *ib)
{
	if (dev && !strcmp(dev_name(&ib->dev), dev))
		kv_dev = ib;
	if (peer && !strcmp(dev_name(&ib->dev), peer))
		kv_peer = ib;
	return 0;
}

/* A device that goes away waits for whoever uses it. */
static void kv_remove(struct ib_device *ib, void *data)
{
	wait_for_completion(&kv_over);
}

static struct ib_client kv_client = {
	.name = "mrc_kverbs",
	.add = kv_add,
	.remove = kv_remove,
};

static int __init kv_init(void)
{
	int n = 0, ret;

	ret = ib_register_client(&kv_client);
	if (ret)
		return ret;
	if (kv_dev && kv_peer) {
		n = kv_run(kv_memory_tests, n);
		n = kv_run(kv_srq_tests, n);
		n = kv_run(kv_cq_tests, n);
		if (misuse)
			n = kv_run(kv_misuse_tests, n);
		kv_say("1..%d\n", n);
	}
	complete_all(&kv_over);
	ib_unregister_client(&kv_client);
	return n ? 0 : -ENODEV;
}

static void __exit kv_exit(void)
{
}

module_init(kv_init);
module_exit(kv_exit);

MODULE_AUTHOR("soft MRC authors");
MODULE_DESCRIPTION("Tests of RDMA devices by a consumer in the kernel");
MODULE_LICENSE("Dual BSD/GPL");
