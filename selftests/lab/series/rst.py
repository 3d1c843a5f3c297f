# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Converts the pages of Documentation/ to reStructuredText, for a kernel tree. Supports only
the Markdown that these pages use: headings, paragraphs, lists, tables, indented code,
`code`, **bold** and links.
"""
import re
import sys


def link(m, pages):
    name = m[2].split('#')[0].removesuffix('.md')
    if m[1] == m[2].split('#')[0]:
        return f':doc:`{name}`' if name in pages else name
    return f'{m[1]} (:doc:`{name}`)' if name in pages else m[1]


def inline(text, pages=()):
    text = re.sub(r'(?<!`)`([^`]+)`(?!`)', r'``\1``', text)
    text = re.sub(r'\[([^\]]+)\]\(([^)]*)\)', lambda m: link(m, pages), text)
    # Outside of code these characters would be markup.
    parts = re.split(r'(:doc:`[^`]+`|``[^`]+``|\*\*[^*]+\*\*)', text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r'([*|]|(?<=\w)_(?!\w))', r'\\\1', parts[i])
    return ''.join(parts)


def heading(line):
    level = len(line) - len(line.lstrip('#'))
    title = inline(line.lstrip('# '))
    rule = '==-~^'[level] * len(title)
    return [rule, title, rule] if level == 1 else [title, rule]


def cells(row):
    return [c.strip().replace('\\|', '|')
            for c in re.split(r'(?<!\\)\|', row.strip().strip('|'))]


def table(rows, pages):
    head = cells(rows[0])
    body = [cells(r) for r in rows[2:]]
    out = ['.. list-table::']
    if any(head):
        body.insert(0, head)
        out.append('   :header-rows: 1')
    out.append('')
    for row in body:
        for i, c in enumerate(row):
            out.append(f'   {"* -" if not i else "  -"} {inline(c, pages)}'.rstrip())
    return out


def convert(text, pages=()):
    """@pages: names of the pages that can be linked to."""
    out, lines, i = [], text.splitlines(), 0
    if lines[0].startswith('<!--'):
        out.append('.. ' + lines[0].removeprefix('<!--').removesuffix('-->').strip())
        i = 1
    para = True     # an indented line would begin code
    depth = 0       # of the last item of a list
    while i < len(lines):
        line = lines[i]
        if line.startswith('#'):
            out += heading(line)
        elif line.startswith('|'):
            rows = []
            while i < len(lines) and lines[i].startswith('|'):
                rows.append(lines[i])
                i += 1
            out += ['', *table(rows, pages), '']
            continue
        elif re.match(r'    \S', line) and para and not out[-1].strip():
            out += ['::', '']
            while i < len(lines) and (lines[i].startswith('    ') or not lines[i].strip()):
                out.append(lines[i].rstrip())
                i += 1
            while not out[-1]:
                out.pop()
            out.append('')
            continue
        elif line.startswith('```'):
            i += 1
            out += ['::', '']
            while not lines[i].startswith('```'):
                out.append(('    ' + lines[i]).rstrip())
                i += 1
            out.append('')
        else:
            item = re.match(r'(\s*)([-*]|\d+\.) ', line)
            if item and out[-1].strip() and (para or len(item[1]) != depth):
                out.append('')      # a list needs an empty line before it
            if item:
                depth = len(item[1])
            if line.strip():
                para = not item and not line.startswith(' ')
            out.append(inline(line, pages))
        i += 1
    return re.sub(r'\n\n\n+', '\n\n', '\n'.join(out).strip('\n')) + '\n'


def main():
    """usage: rst.py PAGE...: prints what docutils cannot parse in them"""
    from docutils import nodes
    from docutils.core import publish_doctree
    from docutils.parsers.rst import Directive, directives, roles

    class Toctree(Directive):
        has_content = True
        option_spec = {'maxdepth': directives.nonnegative_int}

        def run(self):
            return []

    # Directives and roles that Sphinx adds.
    directives.register_directive('toctree', Toctree)
    roles.register_local_role('doc', lambda role, raw, text, *rest, **options:
                              ([nodes.literal(raw, text)], []))
    bad = 0
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as f:
            tree = publish_doctree(f.read(), source_path=path, settings_overrides={
                'report_level': 5, 'halt_level': 5})
        for message in tree.findall(nodes.system_message):
            if message['level'] >= 2:
                bad += 1
                print(message.astext())
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
