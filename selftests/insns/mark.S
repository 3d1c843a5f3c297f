// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Marks for plugin.cpp. With an argument the counting begins, without it ends. A program
// without a library: what it executes itself is next to nothing.
	.globl	_start
_start:
	cmpq	$1, (%rsp)
	jne	1f
	.byte	0x0f, 0x1f, 0x80, 2, 0x43, 0x52, 0x4d
	jmp	2f
1:	.byte	0x0f, 0x1f, 0x80, 1, 0x43, 0x52, 0x4d
2:	movl	$60, %eax	// exit
	xorl	%edi, %edi
	syscall
	.section .note.GNU-stack, "", @progbits
