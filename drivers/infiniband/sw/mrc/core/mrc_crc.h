/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CRC-32 (reflected 0xEDB88320, the register without inversion) by tables, for
 * environments without a faster implementation.
 */
#ifndef MRC_CRC_H
#define MRC_CRC_H

#include "mrc_base.h"

MRC_C_BEGIN

/**
 * mrc_crc32_table - continue a CRC-32
 * @crc: register
 * @p: data, of any alignment
 * @len: bytes
 * Return: register.
 */
u32 mrc_crc32_table(u32 crc, const void *p, size_t len);

MRC_C_END

#endif /* MRC_CRC_H */
