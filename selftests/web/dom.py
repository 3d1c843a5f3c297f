# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The document that a browser has made, as a tree."""
from html.parser import HTMLParser

VOID = {'area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source',
        'track', 'wbr'}


class Node:
    def __init__(self, tag, attributes):
        self.tag = tag
        self.attributes = attributes
        self.children = []  # nodes and text

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    @property
    def text(self):
        return ''.join(c if isinstance(c, str) else c.text for c in self.children)

    def walk(self):
        for c in self.children:
            if not isinstance(c, str):
                yield c
                yield from c.walk()

    def all(self, tag=None, **wanted):
        """Nodes below with this tag and these attributes; cls: one of the classes."""
        cls = wanted.pop('cls', None)
        return [n for n in self.walk()
                if (tag is None or n.tag == tag) and
                (cls is None or cls in (n.get('class') or '').split()) and
                all(n.get(k) == v for k, v in wanted.items())]

    def one(self, tag=None, **wanted):
        found = self.all(tag, **wanted)
        if len(found) != 1:
            raise AssertionError(f'{len(found)} of {tag} {wanted}, not one')
        return found[0]


class Builder(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Node('', {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag):
        for i in range(len(self.open) - 1, 0, -1):
            if self.open[i].tag == tag:
                del self.open[i:]
                return

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(text):
    b = Builder()
    b.feed(text)
    b.close()
    return b.root
