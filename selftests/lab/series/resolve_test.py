#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests of resolve.py."""
import unittest

from resolve import resolve

KNOWN = {'YES': True, 'NO': False}


class Resolve(unittest.TestCase):
    def check(self, text, want):
        self.assertEqual(resolve(text, KNOWN), want)

    def test_known(self):
        self.check('#ifdef YES\na\n#else\nb\n#endif\n', 'a\n')
        self.check('#ifdef NO\na\n#else\nb\n#endif\n', 'b\n')
        self.check('#ifndef NO\na\n#endif\nc\n', 'a\nc\n')
        self.check('#if IS_ENABLED(NO)\na\n#endif\nc\n', 'c\n')

    def test_unknown_stays(self):
        text = '#ifdef A\na\n#elif defined(B) && C > 1\nb\n#else\nc\n#endif /* A */\n'
        self.check(text, text)

    def test_part_of_a_condition(self):
        self.check('#if defined(YES) && \\\n\tIS_ENABLED(A)\na\n#endif\n',
                   '#if IS_ENABLED(A)\na\n#endif\n')
        self.check('#if !defined(NO) || A\na\n#endif\n', 'a\n')
        self.check('#if (A || NO) && YES\na\n#endif\n', '#if A\na\n#endif\n')
        self.check('#if (A || B) && C && YES\na\n#endif\n', '#if (A || B) && C\na\n#endif\n')
        self.check('#if !(A && YES)\na\n#endif\n', '#if !A\na\n#endif\n')

    def test_branches(self):
        self.check('#if NO\na\n#elif A\nb\n#else\nc\n#endif\n',
                   '#if A\nb\n#else\nc\n#endif\n')
        self.check('#if A\na\n#elif YES\nb\n#else\nc\n#endif\n',
                   '#if A\na\n#else\nb\n#endif\n')
        self.check('#if A\na\n#elif NO\nb\n#endif\n', '#if A\na\n#endif\n')
        self.check('#if YES\na\n#elif A\nb\n#else\nc\n#endif\n', 'a\n')

    def test_nested(self):
        self.check('#ifdef NO\n#ifdef A\na\n#else\nb\n#endif\n#endif\nc\n', 'c\n')
        self.check('#ifdef A\n#ifdef YES\na\n#endif\n#endif\n', '#ifdef A\na\n#endif\n')

    def test_blank_lines(self):
        self.check('x\n\n#ifdef NO\n\na\n\n#endif\n\ny\n', 'x\n\ny\n')
        self.check('x\n\n\ny\n', 'x\n\n\ny\n')

    def test_not_closed(self):
        with self.assertRaises(ValueError):
            resolve('#ifdef A\n', KNOWN)


if __name__ == '__main__':
    unittest.main()
