// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A plugin of QEMU that counts the instructions a guest executes between two marks, by the
// address of their translation block. A mark is a long NOP with an operand that compilers
// do not write; mark.S executes it. The guest has one processor.
//
// Argument: out=PREFIX. The counts after the Nth mark of the kind "end" go to PREFIX.N, a
// line for each block: address in hex, instructions of the block, executions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>

// The part of QEMU's plugin interface that is used here, version 4 (QEMU 9.2 and newer).
// Debian has no package with its header.
extern "C" {
struct qemu_plugin_tb;
struct qemu_plugin_insn;
using qemu_plugin_id_t = std::uint64_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*fn)(qemu_plugin_id_t, qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *tb, void (*fn)(unsigned, void *),
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn,
					    void (*fn)(unsigned, void *), int flags,
					    void *data);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *tb);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, std::size_t i);
std::size_t qemu_plugin_insn_data(const qemu_plugin_insn *insn, void *to, std::size_t size);

__attribute__((visibility("default"))) int qemu_plugin_version = 4;
}

namespace {

struct Block {
	std::uint64_t address;
	std::size_t insns;
	std::uint64_t executions = 0;
};

struct BlockKey {
	std::uint64_t address;
	std::size_t insns;
	bool operator==(const BlockKey &) const = default;
};

struct BlockHash {
	std::size_t operator()(const BlockKey &k) const
	{
		return (k.address ^ k.insns << 48) * 0x9E3779B97F4A7C15ull >> 16;
	}
};

// QEMU keeps pointers to the blocks, which stay where they are.
std::unordered_map<BlockKey, Block, BlockHash> blocks;
std::string prefix = "counts";
bool counting;
int ends;

constexpr int no_registers = 0;
constexpr std::uint64_t kernel_space = std::uint64_t{1} << 63;
// nopl 0x4d5243NN(%rax); NN is 1 to begin and 2 to end.
constexpr std::array<unsigned char, 3> mark_op = {0x0F, 0x1F, 0x80};
constexpr std::array<unsigned char, 3> mark_tag = {0x43, 0x52, 0x4D};

void executed(unsigned, void *data)
{
	if (counting)
		static_cast<Block *>(data)->executions++;
}

void mark_begin(unsigned, void *)
{
	for (auto &[key, block] : blocks)
		block.executions = 0;
	counting = true;
}

void mark_end(unsigned, void *)
{
	counting = false;
	const std::string name = prefix + "." + std::to_string(++ends);
	std::FILE *file = std::fopen(name.c_str(), "w");
	if (!file) {
		std::perror(name.c_str());
		return;
	}
	for (const auto &[key, block] : blocks) {
		if (block.executions)
			std::fprintf(file, "%lx %zu %lu\n", block.address, block.insns,
				     block.executions);
	}
	if (std::fclose(file) != 0)
		std::perror(name.c_str());
}

// 1, 2, or 0 if this is no mark.
int mark_of(const qemu_plugin_insn *insn)
{
	std::array<unsigned char, 16> b;
	if (qemu_plugin_insn_data(insn, b.data(), b.size()) != 7)
		return 0;
	for (std::size_t i = 0; i < 3; i++) {
		if (b[i] != mark_op[i] || b[i + 4] != mark_tag[i])
			return 0;
	}
	return b[3];
}

void translated(qemu_plugin_id_t, qemu_plugin_tb *tb)
{
	const std::uint64_t address = qemu_plugin_tb_vaddr(tb);
	const std::size_t n = qemu_plugin_tb_n_insns(tb);
	Block &block = blocks.try_emplace({address, n}, Block{address, n}).first->second;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, no_registers, &block);
	if (address & kernel_space)
		return;
	for (std::size_t i = 0; i < n; i++) {
		qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const int mark = mark_of(insn);
		if (mark == 1)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_begin, no_registers,
							       nullptr);
		else if (mark == 2)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_end, no_registers,
							       nullptr);
	}
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const void *, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const std::string_view arg = argv[i];
		if (!arg.starts_with("out=")) {
			std::fprintf(stderr, "plugin: unknown argument %s\n", argv[i]);
			return -1;
		}
		prefix = arg.substr(4);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
