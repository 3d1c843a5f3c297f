# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Results of tests as TAP."""


class Tap:
    """Counts and prints results."""

    def __init__(self):
        self.count, self.bad = 0, 0

    def result(self, name, problems):
        """problems: lines; none if all is well."""
        self.count += 1
        self.bad += bool(problems)
        print('%sok %d - %s' % ('not ' if problems else '', self.count, name), flush=True)
        for line in problems[:25]:
            print('# ' + line)
        if len(problems) > 25:
            print('# and %d lines more' % (len(problems) - 25))

    def end(self):
        print('1..%d' % self.count)
        return 1 if self.bad else 0
