#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Writes the driver as a series of patches for a kernel tree.

usage: series.py KERNEL-SOURCE OUT [EXTRA-SOURCE]
  KERNEL-SOURCE  a kernel tree; only read
  OUT            directory for the patches; its old contents are removed
  EXTRA-SOURCE   has the files that are missing in KERNEL-SOURCE

The file table.toml, beside this one, assigns files to patches. Everything else is taken
from the repository in its present state:

- A part of the driver that can be left out (CONFIG_INFINIBAND_MRC_<name>, drivers/
  infiniband/sw/mrc/Kbuild) is left out of all patches before the one that names it as
  "option": its objects, and in all other files the code that is compiled only with it.
- Code for other kernels (compat/, HAVE_*) or for user space is removed (unifdef).
- A #include of a file that a later patch adds is removed.
- Pages of Documentation/ become reStructuredText (rst.py).
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib

from rst import convert

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, '../../..'))
DRIVER = 'drivers/infiniband/sw/mrc'
UAPI = 'include/uapi/rdma'
OPTION = 'CONFIG_INFINIBAND_MRC_'


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def die(*words):
    sys.exit('series: ' + ' '.join(words))


def resolve(text, known):
    """@text without the conditionals that @known decides: True = defined as 1, False =
    not defined. Other conditionals stay."""
    # unifdef takes no macros with arguments. It decides known parts of a condition, but
    # does not remove them.
    enabled = set(re.findall(r'\bIS_ENABLED\((\w+)\)', text))
    if not enabled and not any(name in text for name in known):
        return text
    text = re.sub(r'\bIS_ENABLED\((\w+)\)', r'defined(\1)', text)
    names = [f'-D{name}=1' if v else f'-U{name}' for name, v in known.items()]
    # -B: no more empty lines than before; -k: also constants; -t: any text, not just C
    run = subprocess.run(['unifdef', '-B', '-k', '-t', *names], input=text, text=True,
                         capture_output=True, check=False)
    if run.returncode > 1:
        die('unifdef: ' + run.stderr.strip())
    text = run.stdout
    for name in enabled:
        text = text.replace(f'defined({name})', f'IS_ENABLED({name})')
    return text


def wrapped(text):
    """Paragraphs with the line width that checkpatch requires in commit messages."""
    return '\n\n'.join(textwrap.fill(' '.join(p.split()), 72, break_on_hyphens=False)
                       for p in text.strip().split('\n\n')) + '\n'


class Kbuild:
    """The objects of the module, with the order and the comments of Kbuild."""

    def __init__(self, path):
        self.groups = []    # comment, option or '', objects without suffix
        self.flags = []
        comment = ''
        text = read(path).replace('\\\n', ' ')
        for line in text.splitlines():
            m = re.match(r'mrc-(y|\$\(' + OPTION + r'(\w+)\))\s*[:+]?=\s*(.*)', line)
            if line.startswith('#'):
                comment = line
            elif m:
                self.groups.append((comment, m[2] or '', self.objects(m[3])))
                comment = ''
            else:
                comment = ''
                if line.startswith('CFLAGS_'):
                    self.flags.append(line)

    @staticmethod
    def objects(text):
        found = []

        def prefix(m):
            found.extend(m[1] + o for o in m[2].split())
            return ''
        text = re.sub(r'\$\(addprefix\s+([^,\s]+),([^)]*)\)', prefix, text)
        if '$' in text:
            die('Kbuild: not understood:', text)
        return [o.removesuffix('.o') for o in found + text.split()]

    def option_of(self):
        return {o + '.c': option for _, option, objects in self.groups
                for o in objects if option}

    def makefile(self, there, options):
        """The Makefile for a kernel tree that has the sources @there."""
        out = ['# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n',
               'obj-$(CONFIG_INFINIBAND_MRC) += mrc.o\n']
        first = True
        for comment, option, objects in self.groups:
            objects = [o + '.o' for o in objects if o + '.c' in there]
            if not objects or (option and option not in options):
                continue
            var = f'mrc-$({OPTION}{option})' if option else 'mrc-y'
            line = f'{var} {":=" if first else "+="}'
            first = False
            if comment or out[-1].startswith('obj'):
                out.append(f'\n{comment}\n' if comment else '\n')
            for o in objects:
                if len(line) + len(o) > 76:
                    out.append(line + ' \\\n')
                    line = '\t' + o
                else:
                    line += ' ' + o
            out.append(line + '\n')
        out.append('\nccflags-y += -I$(src)\n')
        for flag in self.flags:
            if re.match(r'CFLAGS_(\S+)\.o', flag)[1] + '.c' in there:
                out.append(flag + '\n')
        return ''.join(out)


class Series:
    def __init__(self, kernel, extra):
        self.kernel, self.extra = kernel, extra
        with open(os.path.join(HERE, 'table.toml'), 'rb') as f:
            self.table = tomllib.load(f)
        self.patches = self.table['patch']
        self.kbuild = Kbuild(os.path.join(TOP, DRIVER, 'Kbuild'))
        self.options = [p['option'] for p in self.patches if 'option' in p]
        self.option_of = self.kbuild.option_of()
        self.used = set()   # entries of the table that took effect
        self.sources = self.driver_sources()
        self.assign()

    def driver_sources(self):
        """The text of each file of the driver that goes into the kernel tree."""
        found = {}
        top = os.path.join(TOP, DRIVER)
        for folder, dirs, files in os.walk(top):
            dirs[:] = sorted(d for d in dirs if d != 'compat')
            for f in sorted(files):
                path = os.path.join(folder, f)
                name = os.path.relpath(path, top)
                if f.endswith(('.c', '.h')) and not f.endswith('.mod.c') and \
                        not any(fnmatch.fnmatch(name, g) for g in self.table['left']):
                    found[name] = read(path)
        return found

    def assign(self):
        """Assigns each file to a patch: by its name, its option, or a pattern."""
        self.patch_of = {}
        names = {f for p in self.patches for f in p.get('files', ()) if not set(f) & set('*?[')}
        for f in sorted(names - set(self.sources)):
            die(f'table.toml: {f} does not exist')
        for option in sorted(set(self.option_of.values()) - set(self.options)):
            die(f'table.toml: no patch has the option {option}')
        for f in self.sources:
            where = [i for i, p in enumerate(self.patches) if f in p.get('files', ())]
            if f in self.option_of:
                where = [i for i, p in enumerate(self.patches)
                         if p.get('option') == self.option_of[f]]
            where = where or [i for i, p in enumerate(self.patches)
                              if any(fnmatch.fnmatch(f, g) for g in p.get('files', ()))]
            if not where:
                die(f'table.toml: no patch has {f}')
            self.patch_of[f] = where[0]
        built = {o + '.c' for _, _, objects in self.kbuild.groups for o in objects}
        for f in sorted(f for f in self.sources if f.endswith('.c') and f not in built):
            die(f'Kbuild does not have {f}')

    def base(self, path):
        """A file of the kernel, unchanged."""
        for root in (self.kernel, self.extra):
            if root and os.path.isfile(os.path.join(root, path)):
                return read(os.path.join(root, path))
        return die(f'the kernel source has no {path}')

    # --- the state of a file after patch number @step
    # --------------------------------

    def known(self, step, mine=None):
        have = {p.get('option') for p in self.patches[:step + 1]}
        known = {'__KERNEL__': True, '__cplusplus': False}
        for probe in os.listdir(os.path.join(TOP, DRIVER, 'compat/probes')):
            name = probe.removesuffix('.c').upper()
            known['HAVE_' + name] = name not in self.table['gone']
        for o in self.options:
            if o not in have or o == mine:
                known[OPTION + o] = o in have
        return known

    def edits(self, path, text):
        for i, e in enumerate(self.table.get('edit', ())):
            if not fnmatch.fnmatch(path, e['in']):
                continue
            new = re.sub(e['from'], e['to'], text, flags=re.M)
            if new != text:
                self.used.add(i)
            text = new
        return text

    def driver_file(self, path, step):
        there = self.there(step)
        text = self.edits(path, self.sources[path])
        text = resolve(text, self.known(step, self.option_of.get(path)))

        def include(m):
            name = m[1]
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            return m[0] if beside in there or name in there else ''
        new = re.sub(r'^#include "([^"]+)"\n', include, text, flags=re.M)
        return new if new == text else re.sub(r'\n\n\n+', '\n\n', new)

    def there(self, step):
        return {f for f, i in self.patch_of.items() if i <= step}

    def inserted(self, path, text, edit):
        at = re.search(edit['at'], text, re.M)
        if not at:
            die(f'{path}: no place for what the table inserts ({edit["at"]})')
        where = at.start() if edit.get('before', True) else at.end()
        return text[:where] + edit['text'] + text[where:]

    def files(self, step):
        """Path in the kernel tree and text of every file that exists after patch @step.
        """
        out = {}
        for f in self.there(step):
            out[f'{DRIVER}/{f}'] = self.driver_file(f, step)
        if any(f.endswith('.c') for f in self.there(step)):
            have = {p.get('option') for p in self.patches[:step + 1]}
            out[f'{DRIVER}/Makefile'] = self.kbuild.makefile(self.there(step), have)
        known = {OPTION + o: False for o in self.options}
        known |= {OPTION + p['option']: True
                  for p in self.patches[:step + 1] if 'option' in p}
        for p in self.patches[:step + 1]:
            for f in p.get('uapi', ()):
                out[f'{UAPI}/{f}'] = read(os.path.join(TOP, UAPI, f))
            for path, source in p.get('adds', {}).items():
                text = read(os.path.join(TOP, source))
                if source.endswith('.md'):
                    text = convert(text, self.pages(step))
                if source.startswith('selftests/lab/series/'):
                    text = resolve(self.generated(text), known)
                out[path] = self.edits(path, text)
            for edit in p.get('insert', ()):
                path = edit['in']
                out[path] = self.inserted(path, out.get(path) or self.base(path), edit)
        return out

    def pages(self, step):
        """Names of the pages that exist after patch @step."""
        return {os.path.basename(path).removesuffix('.rst')
                for p in self.patches[:step + 1] for path in p.get('adds', {})
                if path.endswith('.rst')}

    # --- generated parts of pages
    # ----------------------------------------------------

    def generated(self, text):
        """A page with the parts that are generated from the sources."""
        return text.replace('@CHOICES@', self.choices()) if '@CHOICES@' in text else text

    def choices(self):
        """The index of spec-choices.md, as a list."""
        rows = re.findall(r'^\| \[(OP-\d+)\][^|]*\| ([^|]+) \| ([^|]*) \| ([^|]+) \|',
                          read(os.path.join(TOP, 'Documentation/spec-choices.md')), re.M)
        if not rows:
            die('Documentation/spec-choices.md has no index')
        return '\n'.join(
            f'{op}\n    {point.strip()}: {choice.strip()}'.replace('`', '``')
            for op, point, _, choice in rows)

    # --- the series ------------------------------------------------------------------

    def write(self, out):
        with tempfile.TemporaryDirectory(prefix='mrc-series.') as tree:
            self.commit_all(tree)
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(out)
            self.git(tree, 'format-patch', '-q', '--cover-letter', '--no-renames',
                     '--zero-commit', '--no-signature',
                     '-o', os.path.abspath(out), 'base..HEAD')
        self.cover(out)
        for i, e in enumerate(self.table.get('edit', ())):
            if i not in self.used:
                die(f'table.toml: nothing matches the edit {e["from"]!r} in {e["in"]}')

    def git(self, tree, *args, text=None):
        when = subprocess.run(['git', '-C', TOP, 'log', '-1', '--format=%ct'], check=True,
                              capture_output=True, text=True).stdout.strip()
        env = dict(os.environ, GIT_AUTHOR_DATE=when + ' +0000',
                   GIT_COMMITTER_DATE=when + ' +0000')
        for who in ('AUTHOR', 'COMMITTER'):
            ident = subprocess.run(['git', '-C', TOP, 'var', f'GIT_{who}_IDENT'], check=True,
                                   capture_output=True, text=True).stdout
            m = re.match(r'(.*) <(.*)>', ident)
            env[f'GIT_{who}_NAME'], env[f'GIT_{who}_EMAIL'] = m[1], m[2]
        done = subprocess.run(['git', '-C', tree, '-c', 'core.quotePath=false', *args],
                              env=env, input=text, text=True, capture_output=True)
        if done.returncode:
            die('git', *args[:2], done.stderr)
        return done.stdout

    def commit_all(self, tree):
        self.git(tree, 'init', '-q')
        inserted = {e['in'] for p in self.patches for e in p.get('insert', ())}
        for path in sorted(inserted):
            try:
                self.put(tree, path, self.base(path))
            except SystemExit:
                if not any(path in p.get('adds', {}) for p in self.patches):
                    raise
        self.git(tree, 'add', '-A')
        self.git(tree, 'commit', '-q', '--allow-empty', '-m', 'base')
        self.git(tree, 'tag', 'base')
        before = {}
        for step, p in enumerate(self.patches):
            files = self.files(step)
            for path, text in files.items():
                if before.get(path) != text:
                    self.put(tree, path, text)
            before = files
            self.git(tree, 'add', '-A')
            if not self.git(tree, 'status', '--porcelain'):
                die(f'the patch "{p["subject"]}" is empty')
            self.git(tree, 'commit', '-q', '-F', '-',
                     text=p['subject'] + '\n\n' + wrapped(p['text']))
            print(f'[series] {step + 1:2}/{len(self.patches)} {p["subject"]}', flush=True)
        self.judge(before)

    @staticmethod
    def put(tree, path, text):
        path = os.path.join(tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        if path.endswith('.sh'):
            os.chmod(path, 0o755)

    def judge(self, files):
        """Checks that nothing is left that does not belong into a kernel tree."""
        wrong = re.compile(r'\bHAVE_[A-Z]|__cplusplus|__KERNEL__|MRC_C_(BEGIN|END)|'
                           r'mrc_compat|compat/|selftests/lab|\.md\b')
        bad = [f'{path}:{n}: {line.strip()}' for path, text in sorted(files.items())
               if '/mrc' in path
               for n, line in enumerate(text.splitlines(), 1) if wrong.search(line)]
        if bad:
            die('not for a kernel tree:\n  ' + '\n  '.join(bad))

    def cover(self, out):
        path = os.path.join(out, '0000-cover-letter.patch')
        text = read(os.path.join(HERE, 'kernel/cover.txt'))
        subject, text = re.sub(r'^#.*\n', '', text, flags=re.M).split('\n\n', 1)
        letter = read(path).replace('*** SUBJECT HERE ***', subject.strip())
        letter = letter.replace('*** BLURB HERE ***', text.strip())
        with open(path, 'w', encoding='utf-8') as f:
            f.write(letter)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    Series(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else None).write(sys.argv[2])


if __name__ == '__main__':
    main()
